// Normalizes text to the tokens that shingles are made of. The tokens lie in one buffer separated by one space, so a
// window of k tokens is a slice of that buffer.
//   zyda1       fixed (fix_text.h), lower case, ASCII punctuation deleted, white space collapsed; then each of
//               « » “ ” ‘ ’ „ becomes a token and can·not gim·me gon·na got·ta lem·me wan·na are split: what NLTK's
//               word tokenizer does to text without punctuation
//   slimpajama  lower case, ASCII punctuation deleted, white space collapsed
//   datatrove   lower case, numbers of any script 0 ("3.14" too), punctuation and control characters spaces, white space
//               collapsed, canonically decomposed without nonspacing marks: datatrove's text before it is split, here
//               at spaces
//   raw         the text as it is; tokens are its code points
// Cost: ASCII about 3 cycles per byte; other characters some 20 cycles each, text that needs fixing twice that.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::corpus {

enum class TextNormalizer { zyda1, slimpajama, datatrove, raw };

struct Tokens {
  std::string text;             // padded with 16 zero bytes behind the tokens
  std::vector<uint32_t> begin;  // one more than tokens; token i is text[begin[i], begin[i + 1] − gap)
  uint32_t gap = 1;             // bytes between tokens: 1, or 0 for code points
  size_t size() const { return begin.empty() ? 0 : begin.size() - 1; }
  std::string_view joined() const {  // all tokens
    return begin.size() < 2 ? std::string_view() : std::string_view(text).substr(0, begin.back() - gap);
  }
  std::string_view operator[](size_t i) const {
    return std::string_view(text).substr(begin[i], begin[i + 1] - gap - begin[i]);
  }
};

// `utf8` must be valid and below 2 GiB. `scratch` keeps mended text between calls.
void normalize(TextNormalizer kind, std::string_view utf8, Tokens& out, std::string& scratch);

}  // namespace quern::corpus
