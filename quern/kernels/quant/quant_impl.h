// quant_kernels.h, written once over gemm/simd.h and compiled per instruction set; QUANT_TABLE names the table.
// Per 64 bytes of q8: 6 shifts and masks, 4 conversions, 4 products. Per 64 bytes of q4 under AVX512-BF16: 3 shifts,
// 4 look-ups (vpermw reads 5 bits of its index: a table repeated twice needs no mask), 4 products; a group costs one
// scale more. A core that reads 25 GB/s has some 9 cycles for a line: both fit.
#include "quern/kernels/gemm/simd.h"
#include "quern/kernels/quant/quant_kernels.h"
#include "quern/kernels/quant/quant_layout.h"

namespace {

using quern::kernels::Int8Rows;
using quern::kernels::QuantLayout;
using quern::kernels::QuantRows;
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
inline F as_float(I x) { return _mm512_castsi512_ps(x); }
inline I bytes_to_lanes(const uint8_t* p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p)); }
// Two floats that bf16 can hold, as a pair: `even` in the low half.
inline I paired(F even, F odd) {
  return _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(_mm512_castps_si512(even), 16),
                                 _mm512_castps_si512(odd));
}
inline I low_words(I x) { return _mm512_srai_epi16(_mm512_slli_epi16(x, 8), 8); }
inline I high_words(I x) { return _mm512_srai_epi16(x, 8); }
inline I madd(I a, I b) { return _mm512_madd_epi16(a, b); }
inline I flip(I x, I y) { return _mm512_xor_si512(x, y); }
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
inline F as_float(I x) { return _mm256_castsi256_ps(x); }
inline I bytes_to_lanes(const uint8_t* p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p)); }
inline I paired(F even, F odd) {
  return _mm256_blend_epi16(_mm256_srli_epi32(_mm256_castps_si256(even), 16), _mm256_castps_si256(odd), 0xaa);
}
inline I low_words(I x) { return _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8); }
inline I high_words(I x) { return _mm256_srai_epi16(x, 8); }
inline I madd(I a, I b) { return _mm256_madd_epi16(a, b); }
inline I flip(I x, I y) { return _mm256_xor_si256(x, y); }
#endif

// The four weights of every lane, each times 2²⁴.
inline void q8_weights(I b, F (&w)[4]) {
  const I top = set1i(0xff000000u);
  w[0] = to_float(left<24>(b));
  w[1] = to_float(masked(left<16>(b), top));
  w[2] = to_float(masked(left<8>(b), top));
  w[3] = to_float(masked(b, top));
}

template <int R>
void q8_direct(const QuantRows& r) {
  F acc[R][kVectors];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) acc[i][v] = zero();
  const uint8_t* p = r.panel;
  const float* x = static_cast<const float*>(r.x);
  for (int64_t b = 0; b < r.blocks; ++b, p += 256, x += 4) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      F w[4];
      q8_weights(loadi(p + v * kVectorBytes), w);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) acc[i][v] = fma(w[j], set1(x[i * r.x_row + j]), acc[i][v]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store(r.y + i * 64 + v * kLanes, acc[i][v]);
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

#if defined(__AVX512BF16__)
constexpr bool kPairs = true, kSums = false;
// bf16 of 0 … 15 (zero points are subtracted later) or of −8 … 7, twice.
inline I nibble_table(bool asymmetric) {
  alignas(64) static constexpr uint16_t unsigned_table[32] = {
      0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0, 0x4100, 0x4110, 0x4120,
      0x4130, 0x4140, 0x4150, 0x4160, 0x4170, 0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0,
      0x40c0, 0x40e0, 0x4100, 0x4110, 0x4120, 0x4130, 0x4140, 0x4150, 0x4160, 0x4170};
  alignas(64) static constexpr uint16_t signed_table[32] = {
      0xc100, 0xc0e0, 0xc0c0, 0xc0a0, 0xc080, 0xc040, 0xc000, 0xbf80, 0x0000, 0x3f80, 0x4000,
      0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0, 0xc100, 0xc0e0, 0xc0c0, 0xc0a0, 0xc080, 0xc040,
      0xc000, 0xbf80, 0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0};
  return loadi(asymmetric ? unsigned_table : signed_table);
}
// One row needs twice the sums: a chain of products per 16 columns alone would wait for its own latency.
template <int R>
constexpr int kChains = R == 1 ? 2 : 1;
// The eight values of k of one block, all columns: four lines.
template <int R>
inline void q4_block(const uint8_t* p, const void* x, int64_t x_row, I table, F (&acc)[kChains<R>][R][kVectors]) {
  const uint32_t* xp = static_cast<const uint32_t*>(x);
  I bits[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) bits[v] = loadi(p + v * kVectorBytes);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const I w = _mm512_permutexvar_epi16(bits[v], table);
      bits[v] = right<4>(bits[v]);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        F& sum = acc[j % kChains<R>][i][v];
        sum = _mm512_dpbf16_ps(sum, (__m512bh)set1i(xp[i * x_row + j]), (__m512bh)w);
      }
    }
  }
}
#else
constexpr bool kPairs = false, kSums = true;
inline I nibble_table(bool) { return set1i(0); }
template <int R>
constexpr int kChains = 1;
template <int R>
inline void q4_block(const uint8_t* p, const void* x, int64_t x_row, I, F (&acc)[1][R][kVectors]) {
  const float* xf = static_cast<const float*>(x);
  I bits[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) bits[v] = loadi(p + v * kVectorBytes);
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const F w = nibble<0>(bits[v]);
      bits[v] = right<4>(bits[v]);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) acc[0][i][v] = fma(w, set1(xf[i * x_row + kNibbleK[j]]), acc[0][i][v]);
    }
  }
}
#endif

template <int R, int K8, bool ASYM>  // K8: eighths of a group
void q4_direct(const QuantRows& r) {
  constexpr int64_t head = ASYM ? 128 : 64;
  const I table = nibble_table(ASYM);
  const uint8_t* p = r.panel;
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < kVectors; ++v) store(r.y + i * 64 + v * kLanes, zero());
  const char* x = static_cast<const char*>(r.x);
  for (int64_t g = 0; g < r.blocks; ++g) {
    F acc[kChains<R>][R][kVectors];
#pragma GCC unroll 2
    for (auto& chain : acc)
#pragma GCC unroll 4
      for (auto& row : chain)
#pragma GCC unroll 8
        for (F& sum : row) sum = zero();
    const uint8_t* scales = p;
    p += head;
    for (int b = 0; b < K8; ++b, p += 256, x += 8 * (kPairs ? 2 : 4)) q4_block<R>(p, x, r.x_row, table, acc);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const F e = group_scales(scales + v * kLanes, ASYM);
      const F z = ASYM || kSums ? zero_points(scales + v * kLanes, ASYM) : zero();
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        float* y = r.y + i * 64 + v * kLanes;
        F sum = acc[0][i][v];
        if (kChains < R >> 1) sum = add(sum, acc[kChains<R> - 1][i][v]);
        if (ASYM || kSums) sum = sub(sum, mul(z, set1(r.x_sums[i * r.sums_row + g])));
        store(y, fma(e, sum, load(y)));
      }
    }
  }
}

template <int R>
void q4_rows(const QuantRows& r) {
  if (r.group == 32) return r.asymmetric ? q4_direct<R, 4, true>(r) : q4_direct<R, 4, false>(r);
  return r.asymmetric ? q4_direct<R, 8, true>(r) : q4_direct<R, 8, false>(r);
}

void q8(const QuantRows& r) {
#if defined(__AVX512F__)
  if (r.rows == 2) return q8_direct<2>(r);
#endif
  q8_direct<1>(r);
}

void q4(const QuantRows& r) {
#if defined(__AVX512F__)
  if (r.rows == 4) return q4_rows<4>(r);
  if (r.rows == 3) return q4_rows<3>(r);
  if (r.rows == 2) return q4_rows<2>(r);
#endif
  q4_rows<1>(r);
}

template <int R>
void int8_direct(const Int8Rows& r) {
  constexpr int V = kLanes == 16 ? 4 : 2;  // columns that fit the registers
  for (int c = 0; c < kVectors; c += V) {
    I acc[R][V];
#pragma GCC unroll 6
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v)
#if defined(__AVX512VNNI__)  // x is q + 128 there
        acc[i][v] =
            _mm512_slli_epi32(_mm512_sub_epi32(_mm512_setzero_si512(), loadi(r.column_sums + (c + v) * kLanes)), 7);
#else
        acc[i][v] = set1i(0);
#endif
    for (int64_t b = 0; b < r.blocks; ++b) {
      const uint8_t* p = r.panel + b * 256 + c * kVectorBytes;
#pragma GCC unroll 6
      for (int i = 0; i < R; ++i) {
        uint32_t four;
        __builtin_memcpy(&four, r.x + i * r.x_row + 4 * b, 4);
#if defined(__AVX512VNNI__)
        const I x = set1i(four);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[i][v] = _mm512_dpbusd_epi32(acc[i][v], x, loadi(p + v * kVectorBytes));
#else
        const I x = flip(set1i(four), set1i(0x80808080u)), xe = low_words(x), xo = high_words(x);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
          const I w = loadi(p + v * kVectorBytes);
          acc[i][v] = plus(acc[i][v], plus(madd(low_words(w), xe), madd(high_words(w), xo)));
        }
#endif
      }
    }
    for (int i = 0; i < R; ++i)
      for (int v = 0; v < V; ++v) storei(r.sums + i * 64 + (c + v) * kLanes, acc[i][v]);
  }
}

void q8a8(const Int8Rows& r) {
  switch (r.rows) {
    case 1:
      return int8_direct<1>(r);
    case 2:
      return int8_direct<2>(r);
    case 3:
      return int8_direct<3>(r);
    case 4:
      return int8_direct<4>(r);
    case 5:
      return int8_direct<5>(r);
    default:
      return int8_direct<6>(r);
  }
}

void unpack_q8(const uint8_t* from, int64_t blocks, uint32_t* to) {
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

void unpack_q4(const uint8_t* from, int64_t blocks, int64_t group, bool asymmetric, uint32_t* to) {
  asymmetric ? unpack_q4_as<true>(from, blocks, group, to) : unpack_q4_as<false>(from, blocks, group, to);
}

void widen_row(const uint16_t* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; i += kLanes) store(to + i, widen(from + i));
}

}  // namespace

namespace quern::kernels {
constinit const QuantKernels QUANT_TABLE = {
    kLanes == 16 ? 2 : 1, kLanes == 16 ? 4 : 1, kPairs, kSums, q8, q4, q8a8, unpack_q8, unpack_q4, widen_row};
}  // namespace quern::kernels
