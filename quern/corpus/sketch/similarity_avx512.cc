// Eight elements against eight: b's block is rotated seven times, so that every element is compared with every other.
// Two equal elements are in exactly one pair of compared blocks. About 2 cycles per element.
#include <immintrin.h>

#include <algorithm>
#include <bit>

#include "quern/corpus/sketch/similarity_merge.h"

namespace quern::corpus {
namespace {

constexpr size_t kLanes = 8, kStepsBetweenLooks = 16;

template <int... K>
unsigned equal_lanes(__m512i a, __m512i b) {
  return (... | static_cast<unsigned>(_mm512_cmpeq_epi64_mask(a, _mm512_alignr_epi64(b, b, K))));
}

}  // namespace

uint64_t intersection_avx512(std::span<const uint64_t> a, std::span<const uint64_t> b, uint64_t minimum) {
  const uint64_t *pa = a.data(), *pb = b.data();
  size_t i = 0, j = 0;
  uint64_t common = 0;
  while (a.size() - i >= kLanes && b.size() - j >= kLanes) {
    if (common + std::min(a.size() - i, b.size() - j) < minimum) return UINT64_MAX;
    for (size_t s = 0; s < kStepsBetweenLooks && a.size() - i >= kLanes && b.size() - j >= kLanes; ++s) {
      const __m512i va = _mm512_loadu_si512(pa + i), vb = _mm512_loadu_si512(pb + j);
      common += static_cast<unsigned>(std::popcount(equal_lanes<0, 1, 2, 3, 4, 5, 6, 7>(va, vb)));
      const uint64_t end_a = pa[i + kLanes - 1], end_b = pb[j + kLanes - 1];
      i += kLanes * (end_a <= end_b);
      j += kLanes * (end_b <= end_a);
    }
  }
  const uint64_t rest = intersection_ref(a.subspan(i), b.subspan(j), common >= minimum ? 0 : minimum - common);
  return rest == UINT64_MAX ? rest : common + rest;
}

}  // namespace quern::corpus
