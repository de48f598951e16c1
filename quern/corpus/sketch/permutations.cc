#include "quern/corpus/sketch/permutations.h"

#include <bit>

namespace quern::corpus {

MersenneTwister::MersenneTwister(uint32_t seed) {
  state_[0] = seed;
  for (uint32_t i = 1; i < 624; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
}

uint32_t MersenneTwister::next() {
  if (at_ == 624) {
    for (int i = 0; i < 624; ++i) {
      const uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % 624] & 0x7fffffffu);
      state_[i] = state_[(i + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0u);
    }
    at_ = 0;
  }
  uint32_t y = state_[at_++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680u;
  y ^= y << 15 & 0xefc60000u;
  return y ^ y >> 18;
}

uint64_t MersenneTwister::below_or_at(uint64_t bound) {
  const uint64_t mask = bound == 0 ? 0 : ~uint64_t{0} >> std::countl_zero(bound);
  uint64_t v = 0;
  do {
    v = next64() & mask;
  } while (v > bound);
  return v;
}

uint32_t MersenneTwister::below_or_at32(uint32_t bound) {
  const uint32_t mask = bound == 0 ? 0 : ~uint32_t{0} >> std::countl_zero(bound);
  uint32_t v = 0;
  do {
    v = next() & mask;
  } while (v > bound);
  return v;
}

Permutations datasketch_permutations(int rows, uint32_t seed) {
  MersenneTwister mt(seed);
  Permutations p;
  for (int i = 0; i < rows; ++i) {
    p.a.push_back(1 + mt.below_or_at(kMersenne61 - 2));
    p.b.push_back(mt.below_or_at(kMersenne61 - 1));
  }
  return p;
}

std::vector<uint32_t> murmur_seeds(int rows, uint32_t seed) {
  MersenneTwister mt(seed);
  std::vector<uint32_t> s;
  for (int i = 0; i < rows; ++i) s.push_back(mt.below_or_at32(999'999));
  return s;
}

}  // namespace quern::corpus
