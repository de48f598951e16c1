// Signatures with AVX2: eight 32-bit or four 64-bit lanes. A 64-bit product is assembled from 32-bit ones.
#include <immintrin.h>

#include "quern/corpus/sketch/minhash_lanes.h"
#include "quern/corpus/sketch/minhash_simd.h"

namespace quern::corpus {
namespace {

typedef uint32_t Lanes8 __attribute__((vector_size(32)));

// Four rows a vector in 64-bit lanes; only the low half of an accumulator's lane means something.
void datasketch(const uint64_t* a, const uint64_t* b, size_t rows, const uint32_t* h, size_t n, uint32_t* acc) {
  const __m256i p = _mm256_set1_epi64x((1ll << 61) - 1), below = _mm256_set1_epi64x((1ll << 61) - 2);
  for (size_t row = 0; row < rows; row += 8) {
    __m256i low[2], high[2], add[2], best[2];
    for (int g = 0; g < 2; ++g) {
      low[g] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + row + 4 * g));
      high[g] = _mm256_srli_epi64(low[g], 32);
      add[g] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + row + 4 * g));
      best[g] = _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(acc + row + 4 * g)));
    }
    for (size_t s = 0; s < n; ++s) {
      const __m256i x = _mm256_set1_epi64x(h[s]);
      for (int g = 0; g < 2; ++g) {
        const __m256i upper = _mm256_slli_epi64(_mm256_mul_epu32(high[g], x), 32);
        const __m256i v = _mm256_add_epi64(_mm256_add_epi64(_mm256_mul_epu32(low[g], x), upper), add[g]);
        const __m256i r = _mm256_add_epi64(_mm256_and_si256(v, p), _mm256_srli_epi64(v, 61));
        // Less p where r ≥ p: in the low half that adds one.
        best[g] = _mm256_min_epu32(best[g], _mm256_sub_epi64(r, _mm256_cmpgt_epi64(r, below)));
      }
    }
    for (int g = 0; g < 2; ++g) {
      alignas(32) uint64_t out[4];
      _mm256_store_si256(reinterpret_cast<__m256i*>(out), best[g]);
      for (int i = 0; i < 4; ++i)
        acc[row + 4 * static_cast<size_t>(g) + static_cast<size_t>(i)] = static_cast<uint32_t>(out[i]);
    }
  }
}

void murmur(const uint32_t* seeds, size_t rows, const TextRanges& windows, uint32_t* acc) {
  murmur_lanes<Lanes8, 4>(seeds, rows, windows, acc,
                          [](Lanes8 x, Lanes8 y) { return (Lanes8)_mm256_min_epu32((__m256i)x, (__m256i)y); });
}

}  // namespace

const MinhashTable minhash_avx2 = {datasketch, murmur, sha1_lanes<Lanes8>};

}  // namespace quern::corpus
