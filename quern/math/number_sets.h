// Sets of real numbers made of intervals and points: [0,1] ∪ (1,2] is [0,2], (0,1) ∪ {1} is (0,1].
#pragma once
#include <optional>

#include "quern/math/answer.h"

namespace quern::math {

// Whether two answers, intervals, points or unions of them, hold the same numbers. Nothing where one is neither, or
// where the order of two ends cannot be told. Names are not compared.
std::optional<bool> same_numbers(const MathAnswer& a, const MathAnswer& b, uint64_t seed);

}  // namespace quern::math
