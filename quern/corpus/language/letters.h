// Text as a row of symbols for character n-grams: letters and marks in lower case, one symbol per code point, and one
// space for whatever lies between words. Digits, punctuation and control characters are what lies between. Code points
// beyond U+FFFF are one symbol together. Cost: about 1.5 ns per character.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace quern::corpus {

constexpr uint16_t kWordGap = ' ';

// Replaces `out`; `utf8` must be valid. A text that holds letters begins and ends with a gap.
void read_letters(std::string_view utf8, std::vector<uint16_t>& out);

}  // namespace quern::corpus
