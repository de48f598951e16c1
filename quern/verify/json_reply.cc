#include "quern/verify/json_reply.h"

#include <set>
#include <vector>

#include "quern/base/error.h"
#include "quern/text/unicode/utf8.h"
#include "quern/verify/answer_text.h"

namespace quern::verify {
namespace {

// What stands between lines that begin with ```.
std::vector<std::string_view> fenced(std::string_view text) {
  std::vector<std::string_view> out;
  size_t begin = text.npos;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    if (trimmed(text.substr(from, end - from)).starts_with("```")) {
      if (begin != text.npos) out.push_back(text.substr(begin, from - begin));
      begin = begin == text.npos ? std::min(end + 1, text.size()) : text.npos;
    }
    from = end + 1;
  }
  return out;
}

}  // namespace

std::optional<std::string> repeated_key(const Json& j) {
  if (j.is_array())
    for (const Json& x : j.as_array())
      if (auto key = repeated_key(x)) return key;
  if (!j.is_object()) return {};
  std::set<std::string_view> seen;
  for (const auto& [key, x] : j.as_object()) {
    if (!seen.insert(key).second) return key;
    if (auto inner = repeated_key(x)) return inner;
  }
  return {};
}

JsonReply json_reply(std::string_view reply) {
  std::string_view text = trimmed(after_thinking(reply));
  if (text.empty()) return {.problem = "no answer"};
  if (text.size() > kMaxJsonReply) return {.problem = fmt::format("more than {} bytes", kMaxJsonReply)};
  if (text::utf8_error(text) != std::string::npos) return {.problem = "invalid UTF-8"};
  const std::vector<std::string_view> blocks = fenced(text);
  if (blocks.size() > 1) return {.problem = fmt::format("{} fenced blocks", blocks.size())};
  if (blocks.size() == 1) text = blocks[0];
  try {
    Json value = Json::parse(text, "the answer");
    if (const auto key = repeated_key(value)) return {.problem = fmt::format("the key '{}' stands twice", *key)};
    return {.value = std::move(value)};
  } catch (const Error& e) {
    return {.problem = e.what()};
  }
}

}  // namespace quern::verify
