// The f32 peak: independent chains of fused multiply-adds that never touch memory. And the same of bytes.
// The pragmas matter: an array indexed by a loop variable would live on the stack.
#include <immintrin.h>

#include "quern/host/peaks.h"

namespace quern::host {

float peak_f32_avx512(int64_t steps) {
  __m512 acc[kPeakAccumulators];
#pragma GCC unroll 12
  for (int i = 0; i < kPeakAccumulators; ++i) acc[i] = _mm512_set1_ps(static_cast<float>(i));
  __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(1.0f);  // x/2 + 1 stays bounded
  for (int64_t s = 0; s < steps; ++s)
#pragma GCC unroll 12
    for (int i = 0; i < kPeakAccumulators; ++i) {
      acc[i] = _mm512_fmadd_ps(acc[i], a, b);
      asm volatile("" : "+v"(acc[i]));  // keeps the compiler from folding steps together
    }
  __m512 sum = acc[0];
#pragma GCC unroll 12
  for (int i = 1; i < kPeakAccumulators; ++i) sum = _mm512_add_ps(sum, acc[i]);
  float out[sizeof(__m512) / 4];
  _mm512_storeu_ps(out, sum);
  return out[0];
}

int peak_int8_avx512(int64_t steps) {
  __m512i acc[kPeakAccumulators];
#pragma GCC unroll 12
  for (int i = 0; i < kPeakAccumulators; ++i) acc[i] = _mm512_set1_epi32(i);
  __m512i a = _mm512_set1_epi8(1), b = _mm512_set1_epi8(-1), ones = _mm512_set1_epi16(1);
  for (int64_t s = 0; s < steps; ++s)
#pragma GCC unroll 12
    for (int i = 0; i < kPeakAccumulators; ++i) {
      __m512i pairs = _mm512_maddubs_epi16(a, b);
      asm volatile("" : "+v"(pairs));
      acc[i] = _mm512_add_epi32(acc[i], _mm512_madd_epi16(pairs, ones));
      asm volatile("" : "+v"(acc[i]));
    }
  __m512i sum = acc[0];
#pragma GCC unroll 12
  for (int i = 1; i < kPeakAccumulators; ++i) sum = _mm512_add_epi32(sum, acc[i]);
  int out[sizeof(__m512i) / 4];
  _mm512_storeu_si512(reinterpret_cast<__m512i*>(out), sum);
  return out[0];
}

}  // namespace quern::host
