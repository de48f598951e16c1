#include "quern/math/modular.h"

#include <array>

namespace quern::math {
namespace {

uint64_t power_mod(uint64_t base, uint64_t n, uint64_t modulus) {
  unsigned __int128 out = 1, square = base % modulus;
  for (; n > 0; n >>= 1) {
    if (n & 1) out = out * square % modulus;
    square = square * square % modulus;
  }
  return static_cast<uint64_t>(out);
}

// Miller and Rabin with the bases that decide it for all numbers of 64 bits.
bool is_prime(uint64_t n) {
  constexpr std::array<uint64_t, 12> kBases = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  for (uint64_t b : kBases)
    if (n % b == 0) return n == b;
  uint64_t odd = n - 1;
  int twos = 0;
  for (; odd % 2 == 0; odd /= 2) ++twos;
  for (uint64_t b : kBases) {
    uint64_t x = power_mod(b, odd, n);
    bool passes = x == 1 || x == n - 1;
    for (int k = 1; k < twos && !passes; ++k) {
      x = static_cast<uint64_t>(static_cast<unsigned __int128>(x) * x % n);
      passes = x == n - 1;
    }
    if (!passes) return false;
  }
  return true;
}

uint64_t digits_in(const PrimeField& f, const MathNode& n) {
  uint64_t v = 0;
  for (char c : n.text) v = f.plus(f.times(v, 10), static_cast<uint64_t>(c - '0'));
  const uint64_t ten = f.power(10, static_cast<uint64_t>(n.exponent < 0 ? -n.exponent : n.exponent));
  return f.times(v, n.exponent < 0 ? f.inverse(ten) : ten);
}

}  // namespace

PrimeField::PrimeField(Rng& r) {
  for (prime_ = ((r.next() >> 4) | uint64_t{1} << 60) / 4 * 4 + 1; !is_prime(prime_);) prime_ += 4;
  for (uint64_t a = 2;; ++a) {  // a^((p-1)/4) is a root of −1 for every second a
    imaginary_ = power(a, (prime_ - 1) / 4);
    if (times(imaginary_, imaginary_) == prime_ - 1) return;
  }
}

uint64_t PrimeField::power(uint64_t base, uint64_t n) const { return power_mod(base, n, prime_); }

bool is_rational(const MathExpression& e) {
  for (const MathNode& n : e) switch (n.op) {
      case MathOp::number:
      case MathOp::variable:
      case MathOp::imaginary:
      case MathOp::add:
      case MathOp::subtract:
      case MathOp::multiply:
      case MathOp::divide:
      case MathOp::negate:
      case MathOp::factorial:
        break;
      case MathOp::power: {
        const auto& exponent = e[static_cast<size_t>(n.right)].folded;
        if (!exponent || exponent->second != 1) return false;
        break;
      }
      default:
        return false;
    }
  return true;
}

uint64_t name_hash(const std::string& name, uint64_t seed) {
  uint64_t h = mix64(seed + 0x9e3779b97f4a7c15ull);
  for (unsigned char c : name) h = mix64(h * 31 + c + 1);
  return h;
}

std::optional<uint64_t> value_in(const PrimeField& f, const MathExpression& e, uint64_t point) {
  std::vector<uint64_t> values(e.size());
  for (size_t k = 0; k < e.size(); ++k) {
    const MathNode& n = e[k];
    const uint64_t a = n.left >= 0 ? values[static_cast<size_t>(n.left)] : 0;
    const uint64_t b = n.right >= 0 ? values[static_cast<size_t>(n.right)] : 0;
    uint64_t& v = values[k];
    switch (n.op) {
      case MathOp::number:
        v = digits_in(f, n);
        break;
      case MathOp::variable:
        v = name_hash(n.text, point) % f.prime();
        break;
      case MathOp::imaginary:
        v = f.imaginary();
        break;
      case MathOp::add:
        v = f.plus(a, b);
        break;
      case MathOp::subtract:
        v = f.minus(a, b);
        break;
      case MathOp::multiply:
        v = f.times(a, b);
        break;
      case MathOp::divide:
        if (b == 0) return {};
        v = f.times(a, f.inverse(b));
        break;
      case MathOp::negate:
        v = f.minus(0, a);
        break;
      case MathOp::factorial:
        v = 1;
        for (int64_t i = 2; i <= e[static_cast<size_t>(n.left)].folded->first; ++i)
          v = f.times(v, static_cast<uint64_t>(i));
        break;
      default: {  // power
        const int64_t m = e[static_cast<size_t>(n.right)].folded->first;
        if (a == 0 && m <= 0) return {};
        v = f.power(m < 0 ? f.inverse(a) : a, static_cast<uint64_t>(m < 0 ? -m : m));
      }
    }
  }
  return values.back();
}

}  // namespace quern::math
