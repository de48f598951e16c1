// W3C Trace Context: the traceparent header, which says to what trace a request belongs.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace quern::serve {

struct TraceContext {
  std::string trace_id, span_id;  // 32 and 16 hex digits in lower case; span_id: the caller's
  bool sampled = true;
};

std::optional<TraceContext> parse_traceparent(std::string_view header);  // nothing where it is not valid

}  // namespace quern::serve
