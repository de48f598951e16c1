// What a mathematical answer says: one value, a set of them, a tuple or an interval, a union. "x = 3" is the value 3
// with the name x; "1, 2", "{1, 2}", "x = 1 or x = 2" and "±1" are sets, "∅" is the empty one; "(1, 2)" is a tuple and
// an interval.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/math/expression.h"

namespace quern::math {

struct MathAnswer {
  enum class Kind { value, set, tuple, unions };
  Kind kind = Kind::value;
  std::string name = {};               // before "="; empty: none
  MathExpression value = {};           // of a value
  std::string brackets = {};           // of a tuple: "()", "[)"
  std::vector<MathAnswer> parts = {};  // of the other kinds; of a set, none, more than one, or the empty set alone
};

constexpr size_t kMaxMathParts = 64;

// Throws MathUnreadable.
MathAnswer parse_math_answer(std::string_view text, MathCommas commas = MathCommas::group);

struct MathComparison {
  bool same = false;
  std::string reason = {};  // never empty
};

// The order of sets and unions is not compared, nor how a union of intervals is cut into parts. `seed` chooses the points of evaluation.
MathComparison compare_math(const MathAnswer& expected, const MathAnswer& given, uint64_t seed);

}  // namespace quern::math
