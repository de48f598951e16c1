// Country calling codes (ITU-T E.164): how many digits a number in that country has behind the code, of fixed lines and
// mobile telephones, as the national numbering plans say.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace quern::corpus {

struct CallingCode {
  uint16_t code = 0;
  uint8_t min = 0, max = 0;  // digits behind the code
};

// The code that these digits begin with; no code is the beginning of another. Null: none, or fewer than three digits.
const CallingCode* calling_code(std::string_view digits);
size_t calling_code_length(const CallingCode& c);

}  // namespace quern::corpus
