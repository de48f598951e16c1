#include "quern/train/reshape/pattern.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::train {

NamePattern::NamePattern(const std::string& text, const std::string& where) : text_(text), where_(where) {
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find('{', at);
    if (open != at) tokens_.push_back({false, text.substr(at, open == text.npos ? text.npos : open - at)});
    if (open == text.npos) break;
    const size_t close = text.find('}', open);
    if (close == text.npos || close == open + 1) fail("{}: '{}': expected a name between braces", where, text);
    tokens_.push_back({true, text.substr(open + 1, close - open - 1)});
    at = close + 1;
  }
  if (tokens_.empty()) fail("{}: expected a tensor name, found an empty text", where);
}

bool NamePattern::match(size_t token, std::string_view rest, Captures& c) const {
  if (token == tokens_.size()) return rest.empty();
  const Token& t = tokens_[token];
  if (!t.hole) return rest.starts_with(t.text) && match(token + 1, rest.substr(t.text.size()), c);
  if (const auto known = c.find(t.text); known != c.end())
    return rest.starts_with(known->second) && match(token + 1, rest.substr(known->second.size()), c);
  const bool any = t.text == "*";
  const size_t maximum = any ? rest.size() : std::min(rest.find('.'), rest.size());
  for (size_t n = any ? 0 : 1; n <= maximum; ++n) {
    c[t.text] = std::string(rest.substr(0, n));
    if (match(token + 1, rest.substr(n), c)) return true;
    c.erase(t.text);
  }
  return false;
}

std::optional<NamePattern::Captures> NamePattern::match(std::string_view name) const {
  Captures c;
  if (!match(0, name, c)) return std::nullopt;
  return c;
}

std::string NamePattern::fill(const Captures& c) const {
  std::string s;
  for (const Token& t : tokens_) {
    if (t.hole && !c.contains(t.text)) fail("{}: '{}': nothing gives {{{}}} a text", where_, text_, t.text);
    s += t.hole ? c.at(t.text) : t.text;
  }
  return s;
}

bool NamePattern::has(const std::string& hole) const {
  return std::any_of(tokens_.begin(), tokens_.end(), [&](const Token& t) { return t.hole && t.text == hole; });
}

}  // namespace quern::train
