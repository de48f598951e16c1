// Counter-based random numbers: value(seed, stream, counter) is a pure function, so recomputing, resuming and any
// number of threads give the same numbers. SplitMix64's finalizer over a mixed key (not cryptographic).
#pragma once
#include <cmath>
#include <cstdint>

namespace quern {

inline uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

class Rng {
 public:
  explicit Rng(uint64_t seed, uint64_t stream = 0)
      : key_(mix64(seed + 0x9e3779b97f4a7c15ull) ^ mix64(stream * 0xd1342543de82ef95ull + 1)) {}
  uint64_t bits(uint64_t counter) const { return mix64(key_ + 0x9e3779b97f4a7c15ull * (counter + 1)); }
  uint64_t next() { return bits(counter_++); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)
  uint64_t below(uint64_t n) { return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64); }
  double normal() {  // Box–Muller, one of the pair
    double u = 1.0 - uniform(), v = uniform();
    return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
  }
  uint64_t counter() const { return counter_; }
  void set_counter(uint64_t c) { counter_ = c; }

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

}  // namespace quern
