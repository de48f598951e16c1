// Scan of sums, sixty-four at a time: most contain none that reaches the threshold, which one comparison shows.
#include <immintrin.h>

#include "quern/recall/graph/gram_scan.h"

namespace quern::recall {

size_t gram_scan_avx512(std::span<float> sums, size_t live, float threshold, uint32_t base, GramNeighbor* out) {
  const __m512 minimum = _mm512_set1_ps(threshold), zero = _mm512_setzero_ps();
  size_t n = 0;
  for (size_t i = 0; i < sums.size(); i += 64) {
    float* p = sums.data() + i;
    const __m512 a = _mm512_loadu_ps(p), b = _mm512_loadu_ps(p + 16), c = _mm512_loadu_ps(p + 32),
                 d = _mm512_loadu_ps(p + 48);
    const __m512 maximum = _mm512_max_ps(_mm512_max_ps(a, b), _mm512_max_ps(c, d));
    if (_mm512_cmp_ps_mask(maximum, minimum, _CMP_GE_OQ) != 0) {
      const auto mask = [&](__m512 v) { return uint64_t{_mm512_cmp_ps_mask(v, minimum, _CMP_GE_OQ)}; };
      uint64_t hits = mask(a) | mask(b) << 16 | mask(c) << 32 | mask(d) << 48;
      for (; hits != 0; hits &= hits - 1) {
        const auto at = static_cast<size_t>(__builtin_ctzll(hits));
        if (i + at < live) out[n++] = {base + static_cast<uint32_t>(i + at), p[at]};
      }
    }
    for (size_t v = 0; v < 64; v += 16) _mm512_storeu_ps(p + v, zero);
  }
  return n;
}

}  // namespace quern::recall
