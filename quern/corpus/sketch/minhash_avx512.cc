// Signatures with AVX-512: sixteen 32-bit or eight 64-bit lanes.
#include <immintrin.h>

#include "quern/corpus/sketch/minhash_lanes.h"
#include "quern/corpus/sketch/minhash_simd.h"

namespace quern::corpus {
namespace {

typedef uint32_t Lanes16 __attribute__((vector_size(64)));

// Eight vectors of eight rows stay in registers over all shingles.
void datasketch(const uint64_t* a, const uint64_t* b, size_t rows, const uint32_t* h, size_t n, uint32_t* acc) {
  const __m512i p = _mm512_set1_epi64((1ll << 61) - 1);
  for (size_t row = 0; row < rows; row += 64) {
    __m512i mul[8], add[8], best[8];
    for (int g = 0; g < 8; ++g) {
      mul[g] = _mm512_loadu_si512(a + row + 8 * g);
      add[g] = _mm512_loadu_si512(b + row + 8 * g);
      best[g] = _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(acc + row + 8 * g)));
    }
    for (size_t s = 0; s < n; ++s) {
      const __m512i x = _mm512_set1_epi64(h[s]);
#pragma GCC unroll 8
      for (int g = 0; g < 8; ++g) {
        const __m512i v = _mm512_add_epi64(_mm512_mullo_epi64(mul[g], x), add[g]);
        const __m512i r = _mm512_add_epi64(_mm512_and_si512(v, p), _mm512_srli_epi64(v, 61));
        best[g] = _mm512_min_epu32(best[g], _mm512_min_epu64(r, _mm512_sub_epi64(r, p)));
      }
    }
    for (int g = 0; g < 8; ++g)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + row + 8 * g), _mm512_cvtepi64_epi32(best[g]));
  }
}

void murmur(const uint32_t* seeds, size_t rows, const TextRanges& windows, uint32_t* acc) {
  murmur_lanes<Lanes16, 4>(seeds, rows, windows, acc,
                           [](Lanes16 x, Lanes16 y) { return (Lanes16)_mm512_min_epu32((__m512i)x, (__m512i)y); });
}

}  // namespace

const MinhashTable minhash_avx512 = {datasketch, murmur, sha1_lanes<Lanes16>};

}  // namespace quern::corpus
