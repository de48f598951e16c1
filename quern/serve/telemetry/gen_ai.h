// Metrics of generation by the OpenTelemetry semantic conventions for generative AI, in the text form of Prometheus:
//
//   gen_ai.server.request.duration        gen_ai_server_request_duration_seconds
//   gen_ai.server.time_to_first_token     gen_ai_server_time_to_first_token_seconds
//   gen_ai.server.time_per_output_token   gen_ai_server_time_per_output_token_seconds
//
// with the bucket boundaries that the conventions name. For all threads.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/serve/http/request_facts.h"

namespace quern::serve {

// "chat", "text_completion" or "embeddings": gen_ai.operation.name of the requests of a path; empty: it is none.
std::string_view gen_ai_operation(std::string_view path);

class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}
  void record(double x);
  void write(const std::string& name, const std::string& labels, std::string& out) const;

 private:
  std::span<const double> bounds_;
  std::vector<int64_t> counts_;
  double sum_ = 0;
};

class GenAiMetrics {
 public:
  void record(std::string_view operation, const RequestFacts& facts, int status, double seconds);
  using Shown = std::function<bool(const std::string& model)>;
  std::string text(const Shown& shown) const;

 private:
  mutable std::mutex mutex_;
  struct Series {
    std::string model, labels;
    auto operator<=>(const Series&) const = default;
  };
  using All = std::map<Series, Histogram>;
  static void write(const char* name, const char* help, const All& all, const Shown& shown, std::string& out);
  All durations_, first_tokens_, per_tokens_;
};

}  // namespace quern::serve
