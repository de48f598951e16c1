// What every instruction set's quant table shares, over gemm/simd.h: scales, dequantization to bf16 pairs for the
// tiles, and rows of x as bytes. Included only by files of one instruction set.
#pragma once
#include "quern/kernels/gemm/simd.h"
#include "quern/kernels/quant/quant_kernels.h"
#include "quern/kernels/quant/quant_layout.h"

namespace {

using quern::kernels::QuantLayout;
constexpr int kVectors = 64 / kLanes;  // in a panel's columns
constexpr int kVectorBytes = 4 * kLanes;

#if defined(__AVX512F__)
template <int N>
inline I left(I x) {
  return _mm512_slli_epi32(x, N);
}
template <int N>
inline I right(I x) {
  return N == 0 ? x : _mm512_srli_epi32(x, N);
}
inline I masked(I x, I m) { return _mm512_and_si512(x, m); }
inline I plus(I a, I b) { return _mm512_add_epi32(a, b); }
inline F to_float(I x) { return _mm512_cvtepi32_ps(x); }
inline I to_int(F x) { return _mm512_cvtps_epi32(x); }
inline F magnitude(F x) { return _mm512_abs_ps(x); }
inline void store_bytes(uint8_t* p, I x) { _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8(x)); }
inline F as_float(I x) { return _mm512_castsi512_ps(x); }
inline I bytes_to_lanes(const uint8_t* p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p)); }
// Two floats that bf16 can hold, as a pair: `even` in the low half.
inline I paired(F even, F odd) {
  return _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(_mm512_castps_si512(even), 16),
                                 _mm512_castps_si512(odd));
}
#else
template <int N>
inline I left(I x) {
  return _mm256_slli_epi32(x, N);
}
template <int N>
inline I right(I x) {
  return N == 0 ? x : _mm256_srli_epi32(x, N);
}
inline I masked(I x, I m) { return _mm256_and_si256(x, m); }
inline I plus(I a, I b) { return _mm256_add_epi32(a, b); }
inline F to_float(I x) { return _mm256_cvtepi32_ps(x); }
inline I to_int(F x) { return _mm256_cvtps_epi32(x); }
inline F magnitude(F x) { return _mm256_and_ps(x, _mm256_castsi256_ps(set1i(0x7fffffff))); }
inline void store_bytes(uint8_t* p, I x) {  // of lanes 0 … 255
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  _mm_storel_epi64((__m128i*)p, _mm_packus_epi16(words, words));
}
inline F as_float(I x) { return _mm256_castsi256_ps(x); }
inline I bytes_to_lanes(const uint8_t* p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p)); }
inline I paired(F even, F odd) {
  return _mm256_blend_epi16(_mm256_srli_epi32(_mm256_castps_si256(even), 16), _mm256_castps_si256(odd), 0xaa);
}
#endif

// The four weights of every lane, each times 2²⁴.
inline void q8_weights(I b, F (&w)[4]) {
  const I top = set1i(0xff000000u);
  w[0] = to_float(left<24>(b));
  w[1] = to_float(masked(left<16>(b), top));
  w[2] = to_float(masked(left<8>(b), top));
  w[3] = to_float(masked(b, top));
}

// Nibble N of every lane as a float, 0 … 15; it is the weight k mod 8 = kNibbleK[N].
constexpr int kNibbleK[8] = {0, 2, 4, 6, 1, 3, 5, 7};
template <int N>
inline F nibble(I b) {
#if defined(__AVX512F__)
  const F table = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_permutexvar_ps(right<4 * N>(b), table);
#else
  return to_float(masked(right<4 * N>(b), set1i(15)));
#endif
}

inline F group_scales(const uint8_t* p, bool asymmetric) {
  I code = bytes_to_lanes(p);
  return as_float(
      plus(asymmetric ? left<QuantLayout::scale_shift(true)>(code) : left<QuantLayout::scale_shift(false)>(code),
           set1i(QuantLayout::scale_base(asymmetric))));
}
inline F zero_points(const uint8_t* p, bool asymmetric) {
  return asymmetric ? to_float(bytes_to_lanes(p + 64)) : set1(8);
}

inline void unpack_q8(const uint8_t* from, int64_t blocks, uint32_t* to) {
  for (int64_t b = 0; b < blocks; ++b, from += 256, to += 128)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      F w[4];
      q8_weights(loadi(from + v * kVectorBytes), w);
      storei(to + v * kLanes, paired(w[0], w[1]));
      storei(to + 64 + v * kLanes, paired(w[2], w[3]));
    }
}

template <bool ASYM>
void unpack_q4_as(const uint8_t* from, int64_t blocks, int64_t group, uint32_t* to) {
  constexpr int64_t head = ASYM ? 128 : 64;
  for (int64_t g = 0; g < blocks; ++g, from += head + group * 32, to += group * 32)
    for (int v = 0; v < kVectors; ++v) {
      const F e = group_scales(from + v * kLanes, ASYM), ez = mul(e, zero_points(from + v * kLanes, ASYM));
      for (int64_t b = 0; b < group / 8; ++b) {
        const I bits = loadi(from + head + b * 256 + v * kVectorBytes);
        uint32_t* out = to + b * 256 + v * kLanes;
        auto pair = [&]<int J>() {  // exact: eight significant bits at most
          F even = sub(mul(nibble<J>(bits), e), ez), odd = sub(mul(nibble<J + 4>(bits), e), ez);
          storei(out + J * 64, paired(even, odd));
        };
        pair.template operator()<0>(), pair.template operator()<1>(), pair.template operator()<2>(),
            pair.template operator()<3>();
      }
    }
}

inline void unpack_q4(const uint8_t* from, int64_t blocks, int64_t group, bool asymmetric, uint32_t* to) {
  asymmetric ? unpack_q4_as<true>(from, blocks, group, to) : unpack_q4_as<false>(from, blocks, group, to);
}

// Where vector v of a panel's columns goes.
inline int64_t place(const quern::kernels::QuantToFloats& a, int v) {
  return v * kLanes / 16 * a.to_group + v * kLanes % 16;
}

template <bool SCALED>
void q8_to_floats(const quern::kernels::QuantToFloats& a) {
  const uint8_t* from = a.from;
  float* to = a.to;
  for (int64_t b = 0; b < a.blocks; ++b, from += 256, to += 4 * a.to_k)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      F w[4];
      q8_weights(loadi(from + v * kVectorBytes), w);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        if (SCALED) w[i] = mul(mul(w[i], set1(0x1p-24f)), load(a.scales + v * kLanes));  // rounded once: q is whole
        store(to + i * a.to_k + place(a, v), w[i]);
      }
    }
}

template <bool ASYM, bool SCALED>
void q4_to_floats(const quern::kernels::QuantToFloats& a) {
  constexpr int64_t head = ASYM ? 128 : 64;
  const uint8_t* from = a.from;
  float* to = a.to;
  for (int64_t g = 0; g < a.blocks; ++g, from += head + a.group * 32, to += a.group * a.to_k)
    for (int v = 0; v < kVectors; ++v) {
      const F e = group_scales(from + v * kLanes, ASYM), ez = mul(e, zero_points(from + v * kLanes, ASYM));
      const F s = SCALED ? load(a.scales + v * kLanes) : zero();
      for (int64_t b = 0; b < a.group / 8; ++b) {
        const I bits = loadi(from + head + b * 256 + v * kVectorBytes);
        float* out = to + b * 8 * a.to_k + place(a, v);
        auto put = [&]<int J>() {
          const F w = sub(mul(nibble<J>(bits), e), ez);  // exact
          store(out + kNibbleK[J] * a.to_k, SCALED ? mul(w, s) : w);
        };
        put.template operator()<0>(), put.template operator()<1>(), put.template operator()<2>(),
            put.template operator()<3>(), put.template operator()<4>(), put.template operator()<5>(),
            put.template operator()<6>(), put.template operator()<7>();
      }
    }
}

inline void to_floats(const quern::kernels::QuantToFloats& a) {
  if (!a.four) return a.scales ? q8_to_floats<true>(a) : q8_to_floats<false>(a);
  if (a.asymmetric) return a.scales ? q4_to_floats<true, true>(a) : q4_to_floats<true, false>(a);
  a.scales ? q4_to_floats<false, true>(a) : q4_to_floats<false, false>(a);
}

// n bytes 128 + round(x·127 / max|x|), ties to even, then 128 up to n_pad; returns max|x|.
inline float to_int8(const float* x, int64_t n, int64_t n_pad, uint8_t* to) {
  F maximum = zero();
  int64_t p = 0;
  for (; p + kLanes <= n; p += kLanes) maximum = max(maximum, magnitude(load(x + p)));
  float top_x = top(maximum);
  for (int64_t q = p; q < n; ++q) top_x = __builtin_fmaxf(top_x, __builtin_fabsf(x[q]));
  const F inverse = set1(top_x > 0 ? 127 / top_x : 0);
  for (p = 0; p + kLanes <= n; p += kLanes) store_bytes(to + p, plus(to_int(mul(load(x + p), inverse)), set1i(128)));
  if (p < n) {
    float rest[kLanes] = {};
    uint8_t out[kLanes];
    for (int64_t q = p; q < n; ++q) rest[q - p] = x[q];
    store_bytes(out, plus(to_int(mul(load(rest), inverse)), set1i(128)));
    for (int64_t q = p; q < n; ++q) to[q] = out[q - p];
  }
  for (p = n; p < n_pad; ++p) to[p] = 128;
  return top_x;
}

}  // namespace
