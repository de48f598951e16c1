#include "quern/math/numeric.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "quern/math/modular.h"

namespace quern::math {
namespace {

using Value = std::optional<BoundedValue>;
using Complex = std::complex<long double>;
constexpr long double kEps = 0x1p-62L;

Value checked(long double re, long double im, long double error) {
  if (!std::isfinite(re) || !std::isfinite(im) || !std::isfinite(error)) return {};
  const long double small = std::abs(im);
  if (small <= error) im = 0, error += small;  // also no sign of zero, which would choose a branch
  return BoundedValue{re, im, error};
}

Value rounded(Complex v, long double error) {
  return checked(v.real(), v.imag(), error + 8 * kEps * std::hypot(v.real(), v.imag()));
}

Complex complex_of(const BoundedValue& a) { return {a.re, a.im}; }

Value plus(const BoundedValue& a, const BoundedValue& b) {
  return rounded({a.re + b.re, a.im + b.im}, a.error + b.error);
}

Value negated(const BoundedValue& a) { return checked(-a.re, a.im == 0 ? 0 : -a.im, a.error); }

Value times(const BoundedValue& a, const BoundedValue& b) {
  const long double error = a.magnitude() * b.error + b.magnitude() * a.error + a.error * b.error +
                            4 * kEps * a.magnitude() * b.magnitude();
  return rounded({a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}, error);
}

Value divided(const BoundedValue& a, const BoundedValue& b) {
  const long double size = b.magnitude();
  if (size <= 4 * b.error) return {};
  const Complex q = b.is_real() ? Complex(a.re / b.re, a.im / b.re) : complex_of(a) / complex_of(b);
  const long double rest = size - b.error;
  return rounded(q, (a.error + std::hypot(q.real(), q.imag()) * b.error) / rest);
}

Value exponential(const BoundedValue& a) {
  if (a.re > 11000 || a.error > 0.1L) return {};
  const long double size = std::exp(a.re);
  return rounded({size * std::cos(a.im), size * std::sin(a.im)}, size * 1.2L * a.error);
}

Value logarithm(const BoundedValue& a) {
  const long double size = a.magnitude();
  if (size <= 4 * a.error) return {};
  return rounded({std::log(size), std::atan2(a.im, a.re)}, 1.5L * a.error / size + 4 * kEps);
}

Value integer_power(BoundedValue base, int64_t n) {
  if (n <= 0 && base.magnitude() <= 4 * base.error) return {};
  if (n < 0) {
    const Value inverse = divided({1, 0, 0}, base);
    if (!inverse) return {};
    base = *inverse, n = -n;
  }
  Value out = BoundedValue{1, 0, 0}, square = base;
  for (; n > 0; n >>= 1) {
    if (n & 1) out = square && out ? times(*out, *square) : std::nullopt;
    if (n > 1) square = square ? times(*square, *square) : std::nullopt;
  }
  return out;
}

// base^(above/below) in lowest terms; real for negative bases where `below` is odd.
Value rational_power(const BoundedValue& base, int64_t above, int64_t below) {
  if (below == 1) return integer_power(base, above);
  const long double exponent = static_cast<long double>(above) / static_cast<long double>(below);
  const long double size = base.magnitude();
  if (size <= 4 * base.error) {
    if (above < 0) return {};
    return BoundedValue{0, 0, std::pow(5 * base.error, exponent)};
  }
  if (base.is_real() && (base.re > 0 || below % 2 != 0)) {
    const long double v = std::pow(size, exponent) * (base.re < 0 && above % 2 != 0 ? -1 : 1);
    const long double slope = std::abs(exponent * v / size);
    return rounded({v, 0}, 1.5L * slope * base.error + 8 * kEps * std::abs(v * exponent));
  }
  const Value log = logarithm(base);
  const Value product = log ? times(*log, {exponent, 0, kEps * std::abs(exponent)}) : std::nullopt;
  return product ? exponential(*product) : std::nullopt;
}

Value general_power(const BoundedValue& base, const BoundedValue& exponent) {
  if (base.magnitude() <= 4 * base.error) return {};
  const Value log = logarithm(base);
  const Value product = log ? times(*log, exponent) : std::nullopt;
  return product ? exponential(*product) : std::nullopt;
}

Value sine(const BoundedValue& a) {
  if (std::abs(a.re) > 1e15L || std::abs(a.im) > 11000 || a.error > 0.1L) return {};
  const long double wide = std::cosh(std::abs(a.im) + a.error);
  return rounded({std::sin(a.re) * std::cosh(a.im), std::cos(a.re) * std::sinh(a.im)}, wide * (a.error + 4 * kEps));
}

Value cosine(const BoundedValue& a) {
  if (std::abs(a.re) > 1e15L || std::abs(a.im) > 11000 || a.error > 0.1L) return {};
  const long double wide = std::cosh(std::abs(a.im) + a.error);
  return rounded({std::cos(a.re) * std::cosh(a.im), -std::sin(a.re) * std::sinh(a.im)}, wide * (a.error + 4 * kEps));
}

Value quotient(const Value& a, const Value& b) { return a && b ? divided(*a, *b) : std::nullopt; }

Value arc(MathOp op, const BoundedValue& a) {
  const Complex v = complex_of(a);
  if (op == MathOp::atan) {
    const long double slope = std::abs(Complex(1) + v * v);
    if (slope <= 8 * a.error) return {};
    return rounded(a.is_real() ? Complex(std::atan(a.re)) : std::atan(v), 1.5L * a.error / slope + 4 * kEps);
  }
  const long double slope = std::sqrt(std::abs(Complex(1) - v * v));
  const long double by_slope = slope > 0 ? 1.5L * a.error / slope : HUGE_VALL;
  const long double error = a.error == 0 ? 0 : std::min(by_slope, 3 * std::sqrt(a.error));
  const bool real = a.is_real() && std::abs(a.re) <= 1;
  const bool sine = op == MathOp::asin;
  if (real) return rounded(sine ? std::asin(a.re) : std::acos(a.re), error + 4 * kEps);
  return rounded(sine ? std::asin(v) : std::acos(v), error + 4 * kEps);
}

Value hyperbolic(MathOp op, const BoundedValue& a) {
  const Value minus = negated(a), up = exponential(a), down = minus ? exponential(*minus) : std::nullopt;
  if (!up || !down) return {};
  const Value lowered = negated(*down);
  const Value sum = plus(*up, *down), difference = plus(*up, *lowered);
  if (!sum || !difference) return {};
  const BoundedValue two = {2, 0, 0};
  if (op == MathOp::sinh) return divided(*difference, two);
  return op == MathOp::cosh ? divided(*sum, two) : divided(*difference, *sum);
}

Value applied(MathOp op, const BoundedValue& a) {
  const BoundedValue one = {1, 0, 0};
  switch (op) {
    case MathOp::negate:
      return negated(a);
    case MathOp::abs:
      return checked(a.magnitude(), 0, a.error + 4 * kEps * a.magnitude());
    case MathOp::exp:
      return exponential(a);
    case MathOp::log:
      return logarithm(a);
    case MathOp::sin:
      return sine(a);
    case MathOp::cos:
      return cosine(a);
    case MathOp::tan:
      return quotient(sine(a), cosine(a));
    case MathOp::cot:
      return quotient(cosine(a), sine(a));
    case MathOp::sec:
      return quotient(one, cosine(a));
    case MathOp::csc:
      return quotient(one, sine(a));
    case MathOp::sinh:
    case MathOp::cosh:
    case MathOp::tanh:
      return hyperbolic(op, a);
    default:
      return arc(op, a);
  }
}

Value leaf(const MathNode& n, uint64_t point) {
  switch (n.op) {
    case MathOp::number: {
      const long double v = std::strtold((n.text + "e" + std::to_string(n.exponent)).c_str(), nullptr);
      const bool exact = n.exponent == 0 && n.text.size() <= 18;
      return checked(v, 0, exact ? 0 : kEps * v);
    }
    case MathOp::variable: {
      const uint64_t h = name_hash(n.text, point);
      const auto fraction = static_cast<long double>((h >> 32) % (1u << 20)) * 0x1p-20L;
      const long double v = std::ldexp(1 + fraction, static_cast<int>(h >> 8 & 7) - 3);
      const bool minus = h & 1;
      return BoundedValue{minus ? -v : v, 0, 0};
    }
    case MathOp::pi:
      return BoundedValue{std::numbers::pi_v<long double>, 0, 4 * kEps};
    case MathOp::euler:
      return BoundedValue{std::numbers::e_v<long double>, 0, 4 * kEps};
    case MathOp::imaginary:
      return BoundedValue{0, 1, 0};
    default:
      return {};
  }
}

Value combined(const MathExpression& e, const MathNode& n, const BoundedValue& a, const BoundedValue& b) {
  const auto& exponent = e[static_cast<size_t>(n.right)].folded;
  switch (n.op) {
    case MathOp::add:
      return plus(a, b);
    case MathOp::subtract: {
      const Value minus = negated(b);
      return minus ? plus(a, *minus) : std::nullopt;
    }
    case MathOp::multiply:
      return times(a, b);
    case MathOp::divide:
      return divided(a, b);
    case MathOp::root:
      return rational_power(a, 1, exponent->first);
    case MathOp::power:
      return exponent ? rational_power(a, exponent->first, exponent->second) : general_power(a, b);
    default:
      return {};
  }
}

}  // namespace

long double BoundedValue::magnitude() const { return im == 0 ? std::abs(re) : std::hypot(re, im); }

std::optional<BoundedValue> value_near(const MathExpression& e, uint64_t point) {
  std::vector<BoundedValue> values(e.size());
  for (size_t k = 0; k < e.size(); ++k) {
    const MathNode& n = e[k];
    Value v;
    if (n.left < 0) {
      v = leaf(n, point);
    } else if (n.op == MathOp::factorial) {
      const auto of = static_cast<long double>(e[static_cast<size_t>(n.left)].folded->first);
      const long double product = std::round(std::tgamma(of + 1));
      v = checked(product, 0, 64 * kEps * product);
    } else if (n.right < 0) {
      v = applied(n.op, values[static_cast<size_t>(n.left)]);
    } else {
      v = combined(e, n, values[static_cast<size_t>(n.left)], values[static_cast<size_t>(n.right)]);
    }
    if (!v) return {};
    values[k] = *v;
  }
  return values.back();
}

}  // namespace quern::math
