// f32 vectors and the functions kernels need of them, only for files named *_avx2.cc and *_avx512.cc: the width
// follows from the flags of the including file. Everything is in an unnamed namespace, so that the linker cannot
// choose code compiled for AVX-512 for a generic caller. For the same reason kernels written with it take raw pointers
// and plain structs: an inline member of View or span instantiated here could leak likewise.
//
// A loop over n floats is written once, as a lambda that gets the index and a tag saying how much of a vector is
// present: Full, Stream (whole, stored past the cache; needs alignment) or PartialVec (the last n mod kLanes). Largest
// relative errors, scanned over a third of all floats whose result is normal: vexp 8e-8, vsigmoid 1.6e-7, vnormal_cdf
// 4.4e-7.
#pragma once
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12: its own _mm512_undefined_* set off both
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <cstdint>

#if !defined(__AVX2__) || !defined(__FMA__)
#error "vec_math.h is for *_avx2.cc and *_avx512.cc"
#endif

namespace quern::kernels {
namespace {

struct Full {};
struct Stream {};

#if defined(__AVX512F__)

constexpr int64_t kLanes = 16;
using Vf = __m512;
struct PartialVec {
  __mmask16 mask;
  explicit PartialVec(int64_t n) : mask(static_cast<__mmask16>((1u << n) - 1)) {}
};
inline Vf vset(float x) { return _mm512_set1_ps(x); }
inline Vf load(const float* p, Full) { return _mm512_loadu_ps(p); }
inline Vf load(const float* p, Stream) { return _mm512_loadu_ps(p); }
inline Vf load(const float* p, PartialVec m) { return _mm512_maskz_loadu_ps(m.mask, p); }
inline void store(float* p, Vf v, Full) { _mm512_storeu_ps(p, v); }
inline void store(float* p, Vf v, Stream) { _mm512_stream_ps(p, v); }
inline void store(float* p, Vf v, PartialVec m) { _mm512_mask_storeu_ps(p, m.mask, v); }
inline Vf keep(Vf v, Vf other, PartialVec m) { return _mm512_mask_mov_ps(other, m.mask, v); }  // v where present
inline Vf fma(Vf a, Vf b, Vf c) { return _mm512_fmadd_ps(a, b, c); }                           // a·b + c
inline Vf fnma(Vf a, Vf b, Vf c) { return _mm512_fnmadd_ps(a, b, c); }                         // c − a·b
inline Vf fms(Vf a, Vf b, Vf c) { return _mm512_fmsub_ps(a, b, c); }                           // a·b − c
inline Vf vmin(Vf a, Vf b) { return _mm512_min_ps(a, b); }  // b where either is NaN
inline Vf vmax(Vf a, Vf b) { return _mm512_max_ps(a, b); }
inline Vf vabs(Vf a) { return _mm512_abs_ps(a); }
inline Vf vround(Vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline Vf scale_by_power(Vf a, Vf n) { return _mm512_scalef_ps(a, n); }  // a·2ⁿ
inline Vf where_positive(Vf x, Vf yes, Vf no) {
  return _mm512_mask_mov_ps(no, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ), yes);
}
inline float sum(Vf v) { return _mm512_reduce_add_ps(v); }
inline float max_lane(Vf v) { return _mm512_reduce_max_ps(v); }
// Even and odd elements of the 2·kLanes floats (a, b), and their inverse.
inline Vf evens(Vf a, Vf b) {
  return _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), b);
}
inline Vf odds(Vf a, Vf b) {
  return _mm512_permutex2var_ps(a, _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31), b);
}
inline Vf zip_low(Vf a, Vf b) {
  return _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), b);
}
inline Vf zip_high(Vf a, Vf b) {
  return _mm512_permutex2var_ps(a, _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
                                b);
}

#else

constexpr int64_t kLanes = 8;
using Vf = __m256;
struct PartialVec {
  __m256i mask;
  explicit PartialVec(int64_t n)
      : mask(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}
};
inline Vf vset(float x) { return _mm256_set1_ps(x); }
inline Vf load(const float* p, Full) { return _mm256_loadu_ps(p); }
inline Vf load(const float* p, Stream) { return _mm256_loadu_ps(p); }
inline Vf load(const float* p, PartialVec m) { return _mm256_maskload_ps(p, m.mask); }
inline void store(float* p, Vf v, Full) { _mm256_storeu_ps(p, v); }
inline void store(float* p, Vf v, Stream) { _mm256_stream_ps(p, v); }
inline void store(float* p, Vf v, PartialVec m) { _mm256_maskstore_ps(p, m.mask, v); }
inline Vf keep(Vf v, Vf other, PartialVec m) { return _mm256_blendv_ps(other, v, _mm256_castsi256_ps(m.mask)); }
inline Vf fma(Vf a, Vf b, Vf c) { return _mm256_fmadd_ps(a, b, c); }
inline Vf fnma(Vf a, Vf b, Vf c) { return _mm256_fnmadd_ps(a, b, c); }
inline Vf fms(Vf a, Vf b, Vf c) { return _mm256_fmsub_ps(a, b, c); }
inline Vf vmin(Vf a, Vf b) { return _mm256_min_ps(a, b); }
inline Vf vmax(Vf a, Vf b) { return _mm256_max_ps(a, b); }
inline Vf vabs(Vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
inline Vf vround(Vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
// a·2ⁿ in two factors: a single one would not reach denormal results or 2¹²⁸.
inline Vf scale_by_power(Vf a, Vf n) {
  __m256i i = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(i, 1), bias = _mm256_set1_epi32(127);
  __m256i rest = _mm256_sub_epi32(i, half);
  Vf x = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  Vf y = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
  return _mm256_mul_ps(_mm256_mul_ps(a, x), y);
}
inline Vf where_positive(Vf x, Vf yes, Vf no) {
  return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ));
}
inline float sum(Vf v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
inline float max_lane(Vf v) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
inline Vf evens(Vf a, Vf b) {
  Vf s =
      _mm256_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0));  // per 128-bit half; the middle quarters then change places
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(s), _MM_SHUFFLE(3, 1, 2, 0)));
}
inline Vf odds(Vf a, Vf b) {
  Vf s = _mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1));
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(s), _MM_SHUFFLE(3, 1, 2, 0)));
}
inline Vf zip_low(Vf a, Vf b) {
  return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), 0x20);
}
inline Vf zip_high(Vf a, Vf b) {
  return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), 0x31);
}

#endif

// For what is read again soon: the same extent, stored through the cache.
inline Full cached(Full m) { return m; }
inline Full cached(Stream) { return {}; }
inline PartialVec cached(PartialVec m) { return m; }
inline Vf keep(Vf v, Vf, Full) { return v; }
inline Vf keep(Vf v, Vf, Stream) { return v; }

// f(index, tag) over [0, n). kStream: whole vectors are handed the Stream tag.
template <bool kStream = false, class F>
inline __attribute__((always_inline)) void each_vec(int64_t n, F f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    if constexpr (kStream)
      f(i, Stream{});
    else
      f(i, Full{});
  if (i < n) f(i, PartialVec(n - i));
}

// Σ term(index, tag) over [0, n); term must be zero where absent. Four chains: an addition takes 4 cycles on the
// cores at hand and one vector arrives per cycle from the first-level cache.
template <class F>
inline __attribute__((always_inline)) float sum_vec(int64_t n, F term) {
  Vf s0 = vset(0), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    s0 += term(i, Full{});
    s1 += term(i + kLanes, Full{});
    s2 += term(i + 2 * kLanes, Full{});
    s3 += term(i + 3 * kLanes, Full{});
  }
  for (; i + kLanes <= n; i += kLanes) s0 += term(i, Full{});
  if (i < n) s1 += term(i, PartialVec(n - i));
  return sum((s0 + s1) + (s2 + s3));
}

// Two sums over one walk: term returns a pair.
struct Vf2 {
  Vf a, b;
};
struct Sum2 {
  float a, b;
};
template <class F>
inline __attribute__((always_inline)) Sum2 sum2_vec(int64_t n, F term) {
  Vf a0 = vset(0), a1 = a0, b0 = a0, b1 = a0;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    Vf2 even = term(i, Full{}), odd = term(i + kLanes, Full{});
    a0 += even.a, b0 += even.b;
    a1 += odd.a, b1 += odd.b;
  }
  each_vec(n - i, [&](int64_t c, auto m) {
    Vf2 v = term(i + c, m);
    a0 += v.a, b0 += v.b;
  });
  return {sum(a0 + a1), sum(b0 + b1)};
}

// A hint to fetch the line at p into the second-level cache, harmless past an array's end. Rows shorter than a page give
// the hardware prefetcher too little to learn from; fetching the next row while this one is finished hides the wait. Into
// the first level it would push out the row in work.
inline void fetch(const float* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1); }

inline float max_vec(int64_t n, const float* x) {  // −∞ of nothing
  const Vf low = vset(-__builtin_inff());
  Vf m0 = low, m1 = low;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    m0 = vmax(m0, load(x + i, Full{}));
    m1 = vmax(m1, load(x + i + kLanes, Full{}));
  }
  each_vec(n - i, [&](int64_t c, auto m) { m0 = vmax(m0, keep(load(x + i + c, m), low, m)); });
  return max_lane(vmax(m0, m1));
}

// eˣ = 2ⁿ·eʳ, n = round(x / ln 2), |r| ≤ ½ ln 2: the series to r⁷/7! leaves 5e-9. ln 2 in two pieces, the first
// short enough that n·piece is exact. Beyond [−104, 89] the f32 result is 0 or ∞ anyway, and n stays small.
inline Vf vexp(Vf x) {
  x = vmax(vset(-104.0f), vmin(vset(89.0f), x));  // in this order a NaN passes through
  const Vf n = vround(x * vset(1.44269504f));
  Vf r = fnma(n, vset(0.693359375f), x);
  r = fnma(n, vset(-2.12194440e-4f), r);
  Vf p = vset(1.0f / 5040);
  p = fma(p, r, vset(1.0f / 720));
  p = fma(p, r, vset(1.0f / 120));
  p = fma(p, r, vset(1.0f / 24));
  p = fma(p, r, vset(1.0f / 6));
  p = fma(p, r, vset(0.5f));
  p = fma(p, r, vset(1.0f));
  p = fma(p, r, vset(1.0f));
  return scale_by_power(p, n);
}

inline float exp_sum_vec(int64_t n, const float* x, float shift) {  // Σ e^(x − shift)
  const Vf s = vset(shift);
  return sum_vec(n, [&](int64_t c, auto m) { return keep(vexp(load(x + c, m) - s), vset(0), m); });
}

inline Vf vsigmoid(Vf x) { return vset(1.0f) / (vset(1.0f) + vexp(vset(0.0f) - x)); }

// Φ(x), the normal distribution function, and e^(−x²/2) with it. With a = |x|, t = 1/(1 + a/√8):
//   Φ(−a) = e^(−a²/2)·t·P(t),  P fitted to ½·erfcx(a/√2)/t on a ∈ [0, 14.8], largest relative error 4.3e-8
// (least squares on Chebyshev nodes, reweighted towards the minimax; degree 7 leaves 8e-7). The square is taken with
// its rounding error, which e^(…) would otherwise magnify a²/2-fold.
struct NormalCdf {
  Vf cdf, bell;
};
inline NormalCdf vnormal_cdf(Vf x) {
  const Vf a = vmin(vset(15.0f), vabs(x));  // Φ(−15) is 0 in f32
  const Vf square = a * a, error = fms(a, a, square);
  const Vf e = vexp(square * vset(-0.5f)), bell = fnma(e, error * vset(0.5f), e);
  const Vf t = vset(1.0f) / fma(a, vset(0.35355339f), vset(1.0f));
  Vf p = vset(-2.959700674e-02f);
  p = fma(p, t, vset(1.425930113e-01f));
  p = fma(p, t, vset(-2.442336231e-01f));
  p = fma(p, t, vset(1.397597641e-01f));
  p = fma(p, t, vset(-1.381396223e-02f));
  p = fma(p, t, vset(1.015558467e-01f));
  p = fma(p, t, vset(1.214981004e-01f));
  p = fma(p, t, vset(1.411950588e-01f));
  p = fma(p, t, vset(1.410427838e-01f));
  const Vf tail = bell * t * p;
  return {where_positive(x, vset(1.0f) - tail, tail), bell};
}

// Streaming stores are weakly ordered: a body that used them ends with this, before other threads may look.
template <bool kStream>
inline void end_stores() {
  if constexpr (kStream) _mm_sfence();
}

}  // namespace
}  // namespace quern::kernels
