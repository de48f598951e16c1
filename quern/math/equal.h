// Whether two expressions are the same function, by evaluation at random points, which are a function of both
// expressions. Without roots, functions, pi and e: exactly, modulo three random primes of 61 bits at several points each
// (two different expressions of degree d agree with a chance of about (d / 2^61)^6). Otherwise: in complex long double
// with running error bounds, at points where `expected` is real, so that a difference below about 1e-17 of the value is
// not seen. Odd roots of negative numbers are real. Cost: linear in the nodes, below a millisecond.
#pragma once
#include <cstdint>

#include "quern/math/expression.h"

namespace quern::math {

enum class MathEquality { same, different, undecided };  // undecided: undefined, too large or too inexact to compare

MathEquality equal_math(const MathExpression& expected, const MathExpression& given, uint64_t seed);

}  // namespace quern::math
