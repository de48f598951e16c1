// What a regular expression of the published pipelines calls a character: \w is a letter, a number or '_', \s white
// space with U+001C–U+001F, \d category Nd. One byte a code point, made once (about 8 ms) when first asked for.
#pragma once
#include <cstdint>

namespace quern::corpus {

constexpr uint8_t kWordChar = 1, kSpaceChar = 2, kDigitChar = 4, kCasedChar = 8;

const uint8_t* char_classes();  // 0x110000 entries

}  // namespace quern::corpus
