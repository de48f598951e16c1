// The vectorized step of the sparse product: scans a block of sums for those that reach the threshold. Writes their
// positions, counted from `base`, and sums in ascending order to `out`, which has room for all, and sets all of `sums`
// to zero.
//   sums: a multiple of 64 floats; `live` of them count, the rest is only cleared. Cost: a load and a store per vector
#pragma once
#include <cstdint>
#include <span>

namespace quern::recall {

struct GramNeighbor {
  uint32_t to;
  float weight;
};

using GramScan = size_t (*)(std::span<float> sums, size_t live, float threshold, uint32_t base, GramNeighbor* out);
size_t gram_scan_ref(std::span<float> sums, size_t live, float threshold, uint32_t base, GramNeighbor* out);
size_t gram_scan_avx2(std::span<float> sums, size_t live, float threshold, uint32_t base, GramNeighbor* out);
size_t gram_scan_avx512(std::span<float> sums, size_t live, float threshold, uint32_t base, GramNeighbor* out);
GramScan gram_scan();  // for active_isa()

}  // namespace quern::recall
