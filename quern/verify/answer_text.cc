#include "quern/verify/answer_text.h"

#include <algorithm>
#include <cctype>

namespace quern::verify {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>", kMark = "Answer:", kBox = "\\boxed{";

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// The inside of the last \boxed{…} that closes. One pass: a stack of the braces that are open.
std::optional<std::string_view> last_box(std::string_view text) {
  std::vector<size_t> open;
  size_t from = text.npos, to = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') open.push_back(i + 1);
    if (text[i] != '}' || open.empty()) continue;
    const size_t inside = open.back();
    open.pop_back();
    const bool is_box = inside >= kBox.size() && text.substr(inside - kBox.size(), kBox.size()) == kBox;
    if (is_box && (from == text.npos || inside > from)) from = inside, to = i;
  }
  if (from == text.npos) return {};
  return text.substr(from, to - from);
}

bool unwrap(std::string_view& s, std::string_view open, std::string_view close) {
  if (s.size() < open.size() + close.size() || !s.starts_with(open) || !s.ends_with(close)) return false;
  s = trimmed(s.substr(open.size(), s.size() - open.size() - close.size()));
  return true;
}

// The line after the last "Answer:", if there is one. Emphasis that the mark stands in ("**Answer:** 3", "*Answer: 3*")
// is not part of the answer.
std::optional<std::string_view> marked_answer(std::string_view text) {
  const size_t mark = text.rfind(kMark);
  if (mark == text.npos) return {};
  size_t before = mark;
  while (before > 0 && mark - before < 3 && (text[before - 1] == '*' || text[before - 1] == '_')) --before;
  const std::string_view emphasis = text.substr(before, mark - before);
  text.remove_prefix(mark + kMark.size());
  text = trimmed(text.substr(0, text.find('\n')));
  if (text.starts_with(emphasis)) return trimmed(text.substr(emphasis.size()));
  if (text.ends_with(emphasis)) return trimmed(text.substr(0, text.size() - emphasis.size()));
  return text;
}

}  // namespace

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string final_answer(std::string_view text) {
  if (const size_t close = text.rfind(kClose); close != text.npos) text.remove_prefix(close + kClose.size());
  if (const auto marked = marked_answer(text)) text = *marked;
  std::string out;
  for (char c : text) {
    if (!is_space(c))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '.')) out.pop_back();
  return out;
}

std::string_view after_thinking(std::string_view reply) {
  if (const size_t close = reply.rfind(kClose); close != reply.npos) return reply.substr(close + kClose.size());
  return reply.find(kOpen) == reply.npos ? reply : std::string_view();
}

std::string extract_answer(std::string_view reply) {
  reply = after_thinking(reply);
  if (const auto box = last_box(reply)) return std::string(trimmed(*box));
  if (const auto marked = marked_answer(reply)) return std::string(*marked);
  reply = trimmed(reply);
  if (const size_t line = reply.rfind('\n'); line != reply.npos) reply.remove_prefix(line + 1);
  return std::string(trimmed(reply));
}

std::string_view bare_answer(std::string_view s) {
  s = trimmed(s);
  while (s.starts_with("**") && s.find("**", 2) == s.npos) s = trimmed(s.substr(2));  // of "**The answer is:** 3"
  for (bool again = true; again;) {
    again = unwrap(s, "$$", "$$") || unwrap(s, "$", "$") || unwrap(s, "\\(", "\\)") || unwrap(s, "\\[", "\\]") ||
            unwrap(s, "**", "**") || unwrap(s, "`", "`");
    if (s.ends_with('.')) s.remove_suffix(1), s = trimmed(s), again = true;
  }
  return s;
}

std::string stated_answer(std::string_view reply) {
  const std::string found = extract_answer(reply);
  std::string_view answer = bare_answer(found);
  constexpr std::string_view kIs = "answer is";
  const std::string lower = lower_case(answer);
  if (const size_t at = lower.rfind(kIs); at != lower.npos) {
    answer.remove_prefix(at + kIs.size());
    if (answer.starts_with(':')) answer.remove_prefix(1);
    answer = bare_answer(answer);
  }
  return std::string(answer);
}

std::vector<std::string_view> pieces_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t at = 0; (at = text.find_first_not_of(" ,;", at)) != text.npos;) {
    const size_t end = std::min(text.find_first_of(" ,;", at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

std::vector<std::string> answer_words(std::string_view text) {
  const std::vector<std::string_view> pieces = pieces_of(text);
  return {pieces.begin(), pieces.end()};
}

std::optional<size_t> closing_brace(std::string_view text, size_t at) {
  int depth = 1;
  for (size_t i = at; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) return i;
  }
  return {};
}

}  // namespace quern::verify
