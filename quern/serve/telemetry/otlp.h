// Exports spans over OTLP/HTTP in JSON: a thread sends what has gathered once per second. A collector that is slow or away
// costs the requests nothing: spans beyond kMaxWaiting are dropped and counted.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "quern/base/json.h"
#include "quern/serve/http/http_message.h"
#include "quern/serve/http/request_facts.h"
#include "quern/serve/telemetry/trace_context.h"

namespace quern::serve {

struct CollectorAddress {
  std::string host, port, path;
};
// "http://127.0.0.1:4318": the path is /v1/traces where the URL has none. Throws Error naming what is wrong.
CollectorAddress parse_collector(const std::string& url);

struct RequestSpan {
  TraceContext parent;  // span_id empty: the request begins the trace
  std::string span_id, operation;
  RequestFacts facts;
  std::string method, path, request_id, input;  // input: the messages, where content is exported
  int status = 0;
  int64_t start_ns = 0, end_ns = 0;  // Unix time
};
Json span_json(const RequestSpan& s);
// What is exported of a request's texts: its messages, prompt or input in the form of gen_ai.input.messages.
std::string input_messages(const Json& body);
std::string random_hex(size_t digits);

class OtlpExporter {
 public:
  static constexpr size_t kMaxWaiting = 2048;
  explicit OtlpExporter(const std::string& url);
  ~OtlpExporter();  // sends what is left, for two seconds at most
  void add(RequestSpan s);
  struct Counts {
    int64_t exported = 0, dropped = 0;
  };
  Counts counts() const;

 private:
  void work(const std::stop_token& stop);
  bool send(const std::string& body) const;
  CollectorAddress to_;
  mutable std::mutex mutex_;
  std::condition_variable_any came_;
  std::deque<RequestSpan> waiting_;
  Counts counts_;
  std::jthread thread_;
};

}  // namespace quern::serve
