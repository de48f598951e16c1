// The f32 peak: independent chains of fused multiply-adds that never touch memory. And the same of bytes.
// The pragmas matter: an array indexed by a loop variable would live on the stack.
#include <immintrin.h>

#include "quern/host/peaks.h"

namespace quern::host {

float peak_f32_avx2(int64_t steps) {
  __m256 acc[kPeakAccumulators];
#pragma GCC unroll 12
  for (int i = 0; i < kPeakAccumulators; ++i) acc[i] = _mm256_set1_ps(static_cast<float>(i));
  __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1.0f);  // x/2 + 1 stays bounded
  for (int64_t s = 0; s < steps; ++s)
#pragma GCC unroll 12
    for (int i = 0; i < kPeakAccumulators; ++i) {
      acc[i] = _mm256_fmadd_ps(acc[i], a, b);
      asm volatile("" : "+x"(acc[i]));  // keeps the compiler from folding steps together
    }
  __m256 sum = acc[0];
#pragma GCC unroll 12
  for (int i = 1; i < kPeakAccumulators; ++i) sum = _mm256_add_ps(sum, acc[i]);
  float out[sizeof(__m256) / 4];
  _mm256_storeu_ps(out, sum);
  return out[0];
}

int peak_int8_avx2(int64_t steps) {
  __m256i acc[kPeakAccumulators];
#pragma GCC unroll 12
  for (int i = 0; i < kPeakAccumulators; ++i) acc[i] = _mm256_set1_epi32(i);
  __m256i a = _mm256_set1_epi8(1), b = _mm256_set1_epi8(-1), ones = _mm256_set1_epi16(1);
  for (int64_t s = 0; s < steps; ++s)
#pragma GCC unroll 12
    for (int i = 0; i < kPeakAccumulators; ++i) {
      __m256i pairs = _mm256_maddubs_epi16(a, b);
      asm volatile("" : "+x"(pairs));
      acc[i] = _mm256_add_epi32(acc[i], _mm256_madd_epi16(pairs, ones));
      asm volatile("" : "+x"(acc[i]));
    }
  __m256i sum = acc[0];
#pragma GCC unroll 12
  for (int i = 1; i < kPeakAccumulators; ++i) sum = _mm256_add_epi32(sum, acc[i]);
  int out[sizeof(__m256i) / 4];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), sum);
  return out[0];
}

}  // namespace quern::host
