// One register of floats for the files compiled per instruction set: 16 lanes under AVX-512, 8 under AVX2.
// Everything is in an anonymous namespace, so that no copy compiled with wider instructions can be picked by the
// linker for generic code. Included by *_avx2.cc, *_avx512.cc and *_avx512bf16.cc only.
#pragma once
// GCC 12's own intrinsics start from undefined registers and warn about it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstdint>

namespace {

#if defined(__AVX512F__)
using F = __m512;
using I = __m512i;
constexpr int kLanes = 16;
inline F zero() { return _mm512_setzero_ps(); }
inline F set1(float x) { return _mm512_set1_ps(x); }
inline F load(const float* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, F x) { _mm512_storeu_ps(p, x); }
inline F add(F a, F b) { return _mm512_add_ps(a, b); }
inline F sub(F a, F b) { return _mm512_sub_ps(a, b); }
inline F mul(F a, F b) { return _mm512_mul_ps(a, b); }
inline F max(F a, F b) { return _mm512_max_ps(a, b); }
inline F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
inline I loadi(const void* p) { return _mm512_loadu_si512(p); }
inline void storei(void* p, I x) { _mm512_storeu_si512(p, x); }
inline I set1i(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
inline F high_half(I x) { return _mm512_castsi512_ps(_mm512_and_si512(x, set1i(0xffff0000u))); }
inline F low_half(I x) { return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16)); }
inline F widen(const uint16_t* p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p)), 16));
}
inline float sum(F x) { return _mm512_reduce_add_ps(x); }
inline float top(F x) { return _mm512_reduce_max_ps(x); }
inline F round_to_int(F x) { return _mm512_roundscale_ps(x, 8); }
inline F times_power_of_2(F x, F n) { return _mm512_scalef_ps(x, n); }
// Lanes ≥ n become `other`.
inline F first_lanes(F x, int n, F other) { return _mm512_mask_blend_ps(_cvtu32_mask16((1u << n) - 1u), other, x); }
#else
using F = __m256;
using I = __m256i;
constexpr int kLanes = 8;
inline F zero() { return _mm256_setzero_ps(); }
inline F set1(float x) { return _mm256_set1_ps(x); }
inline F load(const float* p) { return _mm256_loadu_ps(p); }
inline void store(float* p, F x) { _mm256_storeu_ps(p, x); }
inline F add(F a, F b) { return _mm256_add_ps(a, b); }
inline F sub(F a, F b) { return _mm256_sub_ps(a, b); }
inline F mul(F a, F b) { return _mm256_mul_ps(a, b); }
inline F max(F a, F b) { return _mm256_max_ps(a, b); }
inline F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
inline I loadi(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void storei(void* p, I x) { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }
inline I set1i(uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
inline F high_half(I x) { return _mm256_castsi256_ps(_mm256_and_si256(x, set1i(0xffff0000u))); }
inline F low_half(I x) { return _mm256_castsi256_ps(_mm256_slli_epi32(x, 16)); }
inline F widen(const uint16_t* p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p)), 16));
}
inline float sum(F x) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
inline float top(F x) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
inline F round_to_int(F x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline F times_power_of_2(F x, F n) {  // n ≥ −126 and whole: the caller clamps
  return mul(x, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), set1i(127)), 23)));
}
inline F first_lanes(F x, int n, F other) {
  I lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_blendv_ps(other, x, _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane)));
}
#endif

// Rounds to bf16 (nearest even) and puts `even` in the low and `odd` in the high half of every 32-bit lane.
#if defined(__AVX512BF16__)
inline I pair_up(F even, F odd) {
  I lo = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(even));
  I hi = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(odd));
  return _mm512_or_si512(lo, _mm512_slli_epi32(hi, 16));
}
inline void store_bf16(uint16_t* p, F x) { _mm256_storeu_si256((__m256i*)p, (__m256i)_mm512_cvtneps_pbh(x)); }
#elif defined(__AVX512F__)
inline I rounded(F x) {
  I u = _mm512_castps_si512(x);
  I r = _mm512_add_epi32(u, _mm512_add_epi32(set1i(0x7fff), _mm512_and_si512(_mm512_srli_epi32(u, 16), set1i(1))));
  __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);  // adding could carry a NaN into −0
  return _mm512_mask_or_epi32(r, nan, u, set1i(0x400000));
}
inline void store_bf16(uint16_t* p, F x) {
  _mm256_storeu_si256((__m256i*)p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded(x), 16)));
}
#else
inline I rounded(F x) {
  I u = _mm256_castps_si256(x);
  I r = _mm256_add_epi32(u, _mm256_add_epi32(set1i(0x7fff), _mm256_and_si256(_mm256_srli_epi32(u, 16), set1i(1))));
  F nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);  // adding could carry a NaN into −0
  F quiet = _mm256_castsi256_ps(_mm256_or_si256(u, set1i(0x400000)));
  return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(r), quiet, nan));
}
inline void store_bf16(uint16_t* p, F x) {
  I r = _mm256_srli_epi32(rounded(x), 16);
  I packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(r, r), 0x08);
  _mm_storeu_si128((__m128i*)p, _mm256_castsi256_si128(packed));
}
#endif
#if !defined(__AVX512BF16__) && defined(__AVX512F__)
inline I pair_up(F even, F odd) {
  return _mm512_or_si512(_mm512_srli_epi32(rounded(even), 16), _mm512_and_si512(rounded(odd), set1i(0xffff0000u)));
}
#elif !defined(__AVX512F__)
inline I pair_up(F even, F odd) {
  return _mm256_or_si256(_mm256_srli_epi32(rounded(even), 16), _mm256_and_si256(rounded(odd), set1i(0xffff0000u)));
}
#endif

}  // namespace
