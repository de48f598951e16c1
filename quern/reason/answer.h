// Extracts the answer of a response, and compares answers. The answer is the first that exists of: the last \boxed{…}
// after the thinking, what follows the last "Answer:" on its line, the last non-empty line. Two answers are equal if
// their normal forms are: case, spaces, dollar signs, a final full stop and thousands separators are ignored; numbers
// compare as exact fractions, so 0.5, 1/2 and \frac{1}{2} are one answer.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quern/verify/answer_text.h"

namespace quern::reason {

using verify::extract_answer;  // empty: none. A response still inside <think> has none
std::string normal_answer(std::string_view answer);
inline bool same_answer(std::string_view a, std::string_view b) { return normal_answer(a) == normal_answer(b); }

struct Fraction {
  int64_t top = 0, bottom = 1;  // lowest terms, bottom > 0
  bool operator==(const Fraction&) const = default;
};
std::optional<Fraction> read_number(std::string_view text);  // 12, -3.25, 1/3, \frac{1}{3}, 1,200; nothing: no number

}  // namespace quern::reason
