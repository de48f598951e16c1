#include "quern/code/code_reply.h"

#include <algorithm>

namespace quern::code {
namespace {

std::string_view after_thinking(std::string_view reply) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  if (const size_t close = reply.rfind(kClose); close != reply.npos) return reply.substr(close + kClose.size());
  return reply.find(kOpen) == reply.npos ? reply : std::string_view();
}

// What stands behind a fence that opens a block: a name or nothing; "```python and ```" in a sentence opens none.
bool is_language(std::string_view text) {
  while (text.ends_with('\r') || text.ends_with(' ')) text.remove_suffix(1);
  return text.find_first_of(" `.,:;") == text.npos;
}

}  // namespace

std::optional<std::string> fenced_code(std::string_view reply) {
  constexpr std::string_view kFence = "```";
  reply = after_thinking(reply);
  std::optional<std::string> out;
  for (size_t at = 0; (at = reply.find(kFence, at)) != reply.npos;) {
    const size_t line = reply.find('\n', at);
    if (line == reply.npos) break;
    if (!is_language(reply.substr(at + kFence.size(), line - at - kFence.size()))) {
      at += kFence.size();
      continue;
    }
    const size_t end = std::min(reply.find(kFence, line), reply.size());
    out = reply.substr(line + 1, end - line - 1);
    if (out->ends_with('\n')) out->pop_back();
    at = std::min(end + kFence.size(), reply.size());
  }
  return out;
}

std::string_view answer_text(std::string_view reply) {
  constexpr std::string_view kMark = "Answer:";
  reply = after_thinking(reply);
  if (const size_t mark = reply.rfind(kMark); mark != reply.npos) {
    reply.remove_prefix(mark + kMark.size());
    reply = reply.substr(0, reply.find('\n'));
  }
  reply.remove_prefix(std::min(reply.find_first_not_of(" \t\r\n"), reply.size()));
  return reply.substr(0, reply.find_last_not_of(" \t\r\n.") + 1);
}

}  // namespace quern::code
