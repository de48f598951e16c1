// What is measured of a request after its answer: the histograms of /metrics, and a span for the collector of traces.
#include <chrono>

#include "quern/serve/app/app.h"

namespace quern::serve {
namespace {

int64_t unix_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The trace that the caller's header names, or a new one.
TraceContext context_of(const HttpRequest& r) {
  const std::string* header = r.header("traceparent");
  if (header)
    if (auto given = parse_traceparent(*header)) return std::move(*given);
  return {.trace_id = random_hex(32), .span_id = {}};
}

// A body that is no JSON was refused: then there is nothing to show.
std::string input_of(const HttpRequest& r) {
  try {
    return input_messages(Json::parse(r.body));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void App::measure(Exchange& e, const std::string& path, double seconds) {
  const std::string_view operation = gen_ai_operation(path);
  if (operation.empty() || e.status() == 0) return;
  generation_.record(operation, e.facts, e.status(), seconds);
  if (!exporter_) return;
  RequestSpan s{.parent = context_of(e.request()),
                .span_id = random_hex(16),
                .operation = std::string(operation),
                .facts = e.facts,
                .method = e.request().method,
                .path = path,
                .request_id = e.id,
                .input = {},
                .status = e.status()};
  if (!s.parent.sampled) return;
  if (o_.otlp_content) s.input = input_of(e.request());
  s.end_ns = unix_nanoseconds(), s.start_ns = s.end_ns - static_cast<int64_t>(1e9 * seconds);
  exporter_->add(std::move(s));
}

}  // namespace quern::serve
