// Labels are the attributes of the conventions, with '_' for '.'.
#include "quern/serve/telemetry/gen_ai.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace quern::serve {
namespace {

constexpr std::array kDurationBounds = {0.01, 0.02, 0.04, 0.08,  0.16,  0.32,  0.64,
                                        1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92};
constexpr std::array kFirstTokenBounds = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                          0.25,  0.5,   0.75, 1.0,  2.5,  5.0,  7.5,  10.0};
constexpr std::array kPerTokenBounds = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5};

struct Operation {
  const char *path, *name;
};
constexpr Operation kOperations[] = {{"/v1/chat/completions", "chat"},
                                     {"/chat/completions", "chat"},
                                     {"/v1/messages", "chat"},
                                     {"/v1/responses", "chat"},
                                     {"/api/chat", "chat"},
                                     {"/v1/completions", "text_completion"},
                                     {"/completion", "text_completion"},
                                     {"/completions", "text_completion"},
                                     {"/infill", "text_completion"},
                                     {"/api/generate", "text_completion"},
                                     {"/v1/embeddings", "embeddings"},
                                     {"/embedding", "embeddings"},
                                     {"/embeddings", "embeddings"},
                                     {"/api/embed", "embeddings"},
                                     {"/api/embeddings", "embeddings"}};

std::string label(std::string_view name, std::string_view value) {
  std::string out = fmt::format("{}=\"", name);
  for (char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    c == '\n' ? out += "\\n" : out += c;
  }
  return out + '"';
}

}  // namespace

std::string_view gen_ai_operation(std::string_view path) {
  const auto at = std::ranges::find_if(kOperations, [&](const Operation& o) { return path == o.path; });
  return at == std::end(kOperations) ? std::string_view() : at->name;
}

void Histogram::record(double x) {
  ++counts_[static_cast<size_t>(std::ranges::lower_bound(bounds_, x) - bounds_.begin())];
  sum_ += x;
}

void Histogram::write(const std::string& name, const std::string& labels, std::string& out) const {
  int64_t below = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf";
    out += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bound, below);
  }
  out += fmt::format("{}_sum{{{}}} {}\n{}_count{{{}}} {}\n", name, labels, sum_, name, labels, below);
}

void GenAiMetrics::record(std::string_view operation, const RequestFacts& facts, int status, double seconds) {
  Series s{.model = facts.model, .labels = {}};
  s.labels = label("gen_ai_operation_name", operation) + "," + label("gen_ai_provider_name", "quern") + "," +
             label("gen_ai_request_model", facts.model) + "," + label("gen_ai_response_model", facts.model);
  std::lock_guard lock(mutex_);
  if (status == 200 && facts.first_token_seconds >= 0) {
    first_tokens_.try_emplace(s, kFirstTokenBounds).first->second.record(facts.first_token_seconds);
    if (facts.decoded_tokens > 0)
      per_tokens_.try_emplace(s, kPerTokenBounds)
          .first->second.record(facts.decode_seconds / static_cast<double>(facts.decoded_tokens));
  }
  if (status != 200) s.labels += "," + label("error_type", std::to_string(status));
  durations_.try_emplace(s, kDurationBounds).first->second.record(seconds);
}

void GenAiMetrics::write(const char* name, const char* help, const All& all, const Shown& shown, std::string& out) {
  out += fmt::format("# HELP {} {}\n# TYPE {} histogram\n", name, help, name);
  for (const auto& [series, h] : all)
    if (shown(series.model)) h.write(name, series.labels, out);
}

std::string GenAiMetrics::text(const Shown& shown) const {
  std::string out;
  std::lock_guard lock(mutex_);
  write("gen_ai_server_request_duration_seconds", "time from a request to the end of its answer", durations_, shown,
        out);
  write("gen_ai_server_time_to_first_token_seconds", "time to first token, queue included", first_tokens_, shown,
        out);
  write("gen_ai_server_time_per_output_token_seconds", "time per token after the first", per_tokens_, shown, out);
  return out;
}

}  // namespace quern::serve
