// Values of rational expressions modulo a prime p ≡ 1 (mod 4), where i is a root of −1.
#pragma once
#include <cstdint>
#include <optional>

#include "quern/base/rng.h"
#include "quern/math/expression.h"

namespace quern::math {

class PrimeField {
 public:
  explicit PrimeField(Rng& r);  // a random prime between 2^60 and 2^61
  uint64_t times(uint64_t a, uint64_t b) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % prime_);
  }
  uint64_t power(uint64_t base, uint64_t n) const;
  uint64_t inverse(uint64_t a) const { return power(a, prime_ - 2); }
  uint64_t plus(uint64_t a, uint64_t b) const { return (a + b) % prime_; }
  uint64_t minus(uint64_t a, uint64_t b) const { return (a + prime_ - b) % prime_; }
  uint64_t prime() const { return prime_; }
  uint64_t imaginary() const { return imaginary_; }

 private:
  uint64_t prime_ = 0, imaginary_ = 0;
};

bool is_rational(const MathExpression& e);  // what value_in can evaluate

// The value where each variable has the value that is a hash of its name and `point`; none at a pole.
std::optional<uint64_t> value_in(const PrimeField& field, const MathExpression& e, uint64_t point);

uint64_t name_hash(const std::string& name, uint64_t seed);

}  // namespace quern::math
