// The three stages of a response: undecided, thinking, answer.
#include "quern/serve/chat/reasoning_split.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace quern::serve {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>";

// The length of the longest end of `text` that begins `tag`.
size_t overlap(std::string_view text, std::string_view tag) {
  for (size_t n = std::min(text.size(), tag.size() - 1); n > 0; --n)
    if (text.ends_with(tag.substr(0, n))) return n;
  return 0;
}

size_t blank_end(std::string_view s) {  // where its trailing white space begins
  size_t n = s.size();
  while (n > 0 && std::isspace(static_cast<unsigned char>(s[n - 1])) != 0) --n;
  return n;
}

}  // namespace

ReasoningSplit::SplitText ReasoningSplit::push(std::string_view text) {
  held_ += text;
  return advance(Input::open);
}

ReasoningSplit::SplitText ReasoningSplit::finish() { return advance(Input::ended); }

void ReasoningSplit::drop_leading_blanks() {
  size_t n = 0;
  while (n < held_.size() && std::isspace(static_cast<unsigned char>(held_[n])) != 0) ++n;
  held_.erase(0, n);
  trim_ = trim_ && held_.empty();
}

ReasoningSplit::SplitText ReasoningSplit::advance(Input input) {
  const bool last = input == Input::ended;
  SplitText out;
  if (stage_ == Stage::start) {
    const size_t first = held_.find_first_not_of(" \t\r\n");
    const std::string_view text = first == held_.npos ? std::string_view() : std::string_view(held_).substr(first);
    if (text.starts_with(kOpen)) {
      held_.erase(0, first + kOpen.size());
      stage_ = Stage::thinking;
    } else if (last && text.size() > 1 && kOpen.starts_with(text)) {
      held_.clear();  // an answer that was ended inside the tag
    } else if (last || !kOpen.starts_with(text)) {
      stage_ = Stage::answer, trim_ = false;  // an answer without thinking keeps its white space
    } else {
      return out;
    }
  }
  if (stage_ == Stage::thinking) {
    if (trim_) drop_leading_blanks();
    const size_t close = held_.find(kClose);
    const size_t keep = last || close != held_.npos ? 0 : overlap(held_, kClose);
    const size_t end = blank_end(std::string_view(held_).substr(0, std::min(close, held_.size() - keep)));
    out.reasoning = held_.substr(0, end);
    held_.erase(0, close == held_.npos ? end : close + kClose.size());
    if (close == held_.npos) {
      if (last) held_.clear();
      return out;
    }
    stage_ = Stage::answer, trim_ = true;
  }
  if (trim_) drop_leading_blanks();
  out.content = cut_ ? without_close(input) : std::exchange(held_, {});
  return out;
}

std::string ReasoningSplit::without_close(Input input) {
  if (const size_t close = held_.find(kClose); close != held_.npos) {
    std::string before = held_.substr(0, blank_end(std::string_view(held_).substr(0, close)));
    held_.erase(0, close + kClose.size());
    cut_ = false;
    return before + std::exchange(held_, {});
  }
  const size_t keep = input == Input::ended ? 0 : overlap(held_, kClose);
  const size_t end =
      input == Input::ended ? held_.size() : blank_end(std::string_view(held_).substr(0, held_.size() - keep));
  std::string out = held_.substr(0, end);
  held_.erase(0, end);
  return out;
}

}  // namespace quern::serve
