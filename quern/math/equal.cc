#include "quern/math/equal.h"

#include <algorithm>
#include <cmath>

#include "quern/math/modular.h"
#include "quern/math/numeric.h"

namespace quern::math {
namespace {

MathEquality equal_exactly(const MathExpression& a, const MathExpression& b, Rng& r) {
  constexpr int kPrimes = 3, kPoints = 2, kTries = 12;
  for (int prime = 0; prime < kPrimes; ++prime) {
    const PrimeField field(r);
    int compared = 0;
    for (int k = 0; k < kTries && compared < kPoints; ++k) {
      const uint64_t point = r.next();
      const auto x = value_in(field, a, point), y = value_in(field, b, point);
      if (!x || !y) continue;  // a pole
      if (*x != *y) return MathEquality::different;
      ++compared;
    }
    if (compared < kPoints) return MathEquality::undecided;
  }
  return MathEquality::same;
}

bool has_variable(const MathExpression& e) {
  return std::ranges::any_of(e, [](const MathNode& n) { return n.op == MathOp::variable; });
}

bool has_imaginary(const MathExpression& e) {
  return std::ranges::any_of(e, [](const MathNode& n) { return n.op == MathOp::imaginary; });
}

MathEquality equal_at(const BoundedValue& a, const std::optional<BoundedValue>& b) {
  if (!b) return MathEquality::undecided;
  const long double error = a.error + b->error, apart = std::hypot(a.re - b->re, a.im - b->im);
  if (apart > 4 * error) return MathEquality::different;
  const long double size = std::max({a.magnitude(), b->magnitude(), 1.0L});
  return error <= 1e-12L * size ? MathEquality::same : MathEquality::undecided;
}

enum class Domain { real, complex };

MathEquality equal_nearly(const MathExpression& a, const MathExpression& b, Domain domain, Rng r) {
  constexpr int kTries = 200, kPoints = 8, kEnough = 3;
  const bool varies = has_variable(a) || has_variable(b);
  int same = 0, undecided = 0;
  for (int k = 0; k < kTries && same < kPoints; ++k) {
    const uint64_t point = r.next();
    const auto x = value_near(a, point);
    if (x && (x->is_real() || domain == Domain::complex)) {
      const MathEquality e = equal_at(*x, value_near(b, point));
      if (e == MathEquality::different) return e;
      (e == MathEquality::same ? same : undecided) += 1;
    }
    if (!varies) return same > 0 ? MathEquality::same : MathEquality::undecided;
    if (undecided > kPoints) return MathEquality::undecided;
  }
  return same >= kEnough && same > undecided ? MathEquality::same : MathEquality::undecided;
}

}  // namespace

MathEquality equal_math(const MathExpression& expected, const MathExpression& given, uint64_t seed) {
  Rng r(seed);
  const bool infinite = expected[0].op == MathOp::infinity || given[0].op == MathOp::infinity;
  if (infinite) {
    const bool same = expected.size() == given.size() && expected[0].op == given[0].op;
    return same ? MathEquality::same : MathEquality::different;
  }
  if (is_rational(expected) && is_rational(given)) return equal_exactly(expected, given, r);
  const bool complex = has_imaginary(expected) || has_imaginary(given) || !has_variable(expected);
  if (!complex) {
    const MathEquality e = equal_nearly(expected, given, Domain::real, r);
    if (e != MathEquality::undecided) return e;
  }
  return equal_nearly(expected, given, Domain::complex, r);
}

}  // namespace quern::math
