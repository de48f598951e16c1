#include "quern/corpus/text/char_class.h"

#include <vector>

#include "quern/text/unicode/unicode.h"

namespace quern::corpus {

const uint8_t* char_classes() {
  static const std::vector<uint8_t> classes = [] {
    std::vector<uint8_t> t(0x110000);
    for (char32_t c = 0; c < 0xE1000; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      if (c == 0x40000) c = 0xE0000;  // nothing is assigned between, and behind them all is for private use
      uint8_t k = 0;
      if (text::unicode_is_letter(c) || text::unicode_is_number(c) || c == '_') k |= kWordChar;
      if (text::unicode_is_space(c) || (c >= 0x1C && c <= 0x1F)) k |= kSpaceChar;
      if (text::unicode_is_digit(c)) k |= kDigitChar;
      if (text::unicode_is_cased(c)) k |= kCasedChar;
      t[c] = k;
    }
    return t;
  }();
  return classes.data();
}

}  // namespace quern::corpus
