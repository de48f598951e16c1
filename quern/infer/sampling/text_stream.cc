#include "quern/infer/sampling/text_stream.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::infer {

TextStream::TextStream(const text::Tokenizer& tokenizer, std::vector<std::string> stops)
    : decoder_(tokenizer, text::SpecialTokens::skip), stops_(std::move(stops)) {
  for (const std::string& s : stops_)
    if (s.empty()) fail("a stop string is empty");
}

std::string TextStream::push(int32_t token) {
  return stopped_ ? std::string() : release(decoder_.push(token), Input::open);
}
std::string TextStream::finish() { return stopped_ ? std::string() : release(decoder_.finish(), Input::ended); }

std::string TextStream::release(std::string fresh, Input input) {
  held_ += fresh;
  size_t stop = std::string::npos;
  for (const std::string& s : stops_) stop = std::min(stop, held_.find(s));
  stopped_ = stop != std::string::npos;
  size_t keep = 0;  // the longest end of the text that begins a stop string
  for (const std::string& s : stops_)
    for (size_t n = std::min(s.size() - 1, held_.size()); n > keep && input == Input::open; --n)
      if (held_.ends_with(std::string_view(s).substr(0, n))) keep = n;
  size_t out = stopped_ ? stop : held_.size() - keep;
  std::string text = held_.substr(0, out);
  held_.erase(0, stopped_ ? held_.size() : out);
  return text;
}

}  // namespace quern::infer
