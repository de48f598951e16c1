// Scan of sums, eight at a time: most vectors contain none that reaches the threshold.
#include <immintrin.h>

#include "quern/recall/graph/gram_scan.h"

namespace quern::recall {

size_t gram_scan_avx2(std::span<float> sums, size_t live, float threshold, uint32_t base, GramNeighbor* out) {
  const __m256 minimum = _mm256_set1_ps(threshold), zero = _mm256_setzero_ps();
  size_t n = 0;
  for (size_t i = 0; i < sums.size(); i += 8) {
    float* p = sums.data() + i;
    auto hits = static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(p), minimum, _CMP_GE_OQ)));
    for (; hits != 0; hits &= hits - 1) {
      const auto at = static_cast<size_t>(__builtin_ctz(hits));
      if (i + at < live) out[n++] = {base + static_cast<uint32_t>(i + at), p[at]};
    }
    _mm256_storeu_ps(p, zero);
  }
  return n;
}

}  // namespace quern::recall
