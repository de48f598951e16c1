// Character classes of the published pipelines' regular expressions: \w is a letter, a number or '_', \s white space
// with U+001C–U+001F, \d category Nd. One byte per code point, computed at first use (about 8 ms).
#pragma once
#include <cstdint>

namespace quern::corpus {

constexpr uint8_t kWordChar = 1, kSpaceChar = 2, kDigitChar = 4, kCasedChar = 8;

const uint8_t* char_classes();  // 0x110000 entries

}  // namespace quern::corpus
