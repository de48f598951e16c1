// Finds the tags in a token sequence.
#include "quern/reason/trace.h"

#include <algorithm>

namespace quern::reason {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>";

}  // namespace

Trace read_trace(std::span<const int32_t> tokens, const text::Tokenizer& tokenizer, infer::ThinkStart start) {
  bool opened = start == infer::ThinkStart::opened;
  const int64_t n = static_cast<int64_t>(tokens.size());
  Trace t{.begin = 0, .end = n, .answer = n};
  text::StreamDecoder decoder(tokenizer);
  std::string text;
  std::vector<size_t> length;  // of the text before token i
  size_t from = 0;             // nothing before it can begin a closing tag
  for (int64_t i = 0; i < n; ++i) {
    length.push_back(text.size());
    text += decoder.push(tokens[static_cast<size_t>(i)]);
    if (!opened) {
      const size_t at = text.find(kOpen);
      if (at != text.npos) opened = true, t.begin = i + 1, from = at + kOpen.size();
    }
    if (!opened) continue;
    if (const size_t close = text.find(kClose, from); close != text.npos) {
      // The first token that reaches into the tag ends the thinking.
      auto into = std::upper_bound(length.begin(), length.end(), close);
      t.end = std::max<int64_t>(t.begin, static_cast<int64_t>(into - length.begin()) - 1);
      t.answer = i + 1, t.closed = true;
      return t;
    }
    from = std::max(from, text.size() < kClose.size() ? 0 : text.size() - kClose.size());
  }
  if (!opened) t = {.begin = 0, .end = 0, .answer = 0, .closed = true};
  return t;
}

std::vector<int32_t> tail_of(std::span<const int32_t> tokens, const Trace& t, int64_t tau) {
  const int64_t from = std::max(t.begin, t.end - tau);
  return {tokens.begin() + from, tokens.begin() + t.end};
}

}  // namespace quern::reason
