// Values of expressions in complex long double, each with a bound on its error.
#pragma once
#include <cstdint>
#include <optional>

#include "quern/math/expression.h"

namespace quern::math {

struct BoundedValue {
  long double re = 0, im = 0, error = 0;  // |true value - (re + i im)| <= error, to first order
  long double magnitude() const;
  bool is_real() const { return im == 0; }
};

// The value where each variable is a real number between 1/8 and 16 of either sign, a hash of its name and `point`;
// none where it is undefined, or too large.
std::optional<BoundedValue> value_near(const MathExpression& e, uint64_t point);

}  // namespace quern::math
