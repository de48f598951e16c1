// version-trace-parent-flags; versions above 00 may have more behind.
#include "quern/serve/telemetry/trace_context.h"

#include <algorithm>

namespace quern::serve {
namespace {

bool is_hex(std::string_view s) {
  return std::ranges::all_of(s, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_zero(std::string_view s) { return s.find_first_not_of('0') == s.npos; }

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view h) {
  constexpr size_t kLength = 55;
  if (h.size() < kLength || h[2] != '-' || h[35] != '-' || h[52] != '-') return std::nullopt;
  const std::string_view version = h.substr(0, 2), trace = h.substr(3, 32), span = h.substr(36, 16),
                         flags = h.substr(53, 2);
  if (!is_hex(version) || version == "ff" || !is_hex(trace) || !is_hex(span) || !is_hex(flags)) return std::nullopt;
  if (is_zero(trace) || is_zero(span)) return std::nullopt;
  if (h.size() > kLength && (version == "00" || h[kLength] != '-')) return std::nullopt;
  const char low = flags[1];
  const int value = low <= '9' ? low - '0' : low - 'a' + 10;
  return TraceContext{.trace_id = std::string(trace), .span_id = std::string(span), .sampled = (value & 1) != 0};
}

}  // namespace quern::serve
