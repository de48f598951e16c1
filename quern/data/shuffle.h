// Stateless shuffle: a keyed permutation of 0 … n − 1, so that the order of an epoch is a function of (seed, epoch)
// and resuming needs only the count. A Feistel network of six rounds over the smallest even number of bits that holds
// n; results ≥ n are encrypted again (fewer than four times on average).
#pragma once
#include <cstdint>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern::data {

class Permutation {
 public:
  Permutation(uint64_t n, uint64_t seed, uint64_t stream) : n_(n), keys_(seed, stream) {
    while (half_ < 32 && (uint64_t{1} << (2 * half_)) < n) ++half_;
    QUERN_CHECK(n <= uint64_t{1} << 62);
  }
  uint64_t operator()(uint64_t i) const {
    QUERN_CHECK(i < n_, "{} of {}", i, n_);
    do i = once(i);
    while (i >= n_);
    return i;
  }

 private:
  static constexpr uint64_t kRounds = 6;
  uint64_t once(uint64_t x) const {
    const uint64_t mask = (uint64_t{1} << half_) - 1;
    uint64_t left = x >> half_, right = x & mask;
    for (uint64_t r = 0; r < kRounds; ++r) {
      const uint64_t next = left ^ (mix64(right ^ keys_.bits(r)) & mask);
      left = right, right = next;
    }
    return left << half_ | right;
  }
  uint64_t n_;
  int half_ = 1;
  Rng keys_;
};

}  // namespace quern::data
