// Constants of the two published signatures, and the Mersenne Twister that generates them.
//   datasketch  128 pairs (a, b) below p = 2^61 − 1, MT19937 seeded with 1; row = ((a·h + b mod 2^64) mod p) mod 2^32
//   murmur      128 seeds below 10^6, MT19937 seeded with 10; row = Murmur3_x86_32(shingle, seed)
#pragma once
#include <cstdint>
#include <vector>

namespace quern::corpus {

class MersenneTwister {
 public:
  explicit MersenneTwister(uint32_t seed);
  uint32_t next();
  uint64_t next64() {  // the high half first
    const uint64_t high = next();
    return high << 32 | next();
  }
  uint64_t below_or_at(uint64_t bound);    // masked to the bound's bits, drawn again while above it; 64-bit draws
  uint32_t below_or_at32(uint32_t bound);  // the same with 32-bit draws

 private:
  uint32_t state_[624];
  int at_ = 624;
};

constexpr uint64_t kMersenne61 = (uint64_t{1} << 61) - 1;

struct Permutations {
  std::vector<uint64_t> a, b;
};
Permutations datasketch_permutations(int rows, uint32_t seed = 1);
std::vector<uint32_t> murmur_seeds(int rows, uint32_t seed = 10);

}  // namespace quern::corpus
