// quant_kernels.h for CPUs without bf16 and byte products: a few rows of floats times a panel from end to end, written
// once over gemm/simd.h and compiled per instruction set; QUANT_TABLE names the table. Per vector of q8: 6 shifts and
// masks, 4 conversions, 4 products per row. Per vector of q4: 7 shifts, 8 lookups (or masks and conversions), 8
// products per row; a group costs one more scale.
#include "quern/kernels/quant/quant_impl.h"

namespace {

using quern::kernels::Int8Rows;
using quern::kernels::QuantRows;

#if defined(__AVX512F__)
inline I low_words(I x) { return _mm512_srai_epi16(_mm512_slli_epi16(x, 8), 8); }
inline I high_words(I x) { return _mm512_srai_epi16(x, 8); }
inline I madd(I a, I b) { return _mm512_madd_epi16(a, b); }
inline I flip(I x, I y) { return _mm512_xor_si512(x, y); }
#else
inline I low_words(I x) { return _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8); }
inline I high_words(I x) { return _mm256_srai_epi16(x, 8); }
inline I madd(I a, I b) { return _mm256_madd_epi16(a, b); }
inline I flip(I x, I y) { return _mm256_xor_si256(x, y); }
#endif

template <int R>
void q8_direct(const QuantRows& r) {
  F acc[R][kVectors];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) acc[i][v] = zero();
  const uint8_t* p = r.panel;
  const float* x = r.x;
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

template <int R>
inline void q4_block(const uint8_t* p, const float* x, int64_t x_row, F (&acc)[R][kVectors]) {
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
      for (int i = 0; i < R; ++i) acc[i][v] = fma(w, set1(x[i * x_row + kNibbleK[j]]), acc[i][v]);
    }
  }
}

template <int R, int K8, bool ASYM>  // K8: eighths of a group
void q4_direct(const QuantRows& r) {
  constexpr int64_t head = ASYM ? 128 : 64;
  const uint8_t* p = r.panel;
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < kVectors; ++v) store(r.y + i * 64 + v * kLanes, zero());
  const float* x = r.x;
  for (int64_t g = 0; g < r.blocks; ++g) {
    F acc[R][kVectors];
#pragma GCC unroll 4
    for (auto& row : acc)
#pragma GCC unroll 8
      for (F& sum : row) sum = zero();
    const uint8_t* scales = p;
    p += head;
    for (int b = 0; b < K8; ++b, p += 256, x += 8) q4_block<R>(p, x, r.x_row, acc);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const F e = group_scales(scales + v * kLanes, ASYM);
      const F z = zero_points(scales + v * kLanes, ASYM);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        float* y = r.y + i * 64 + v * kLanes;
        const F sum = sub(acc[i][v], mul(z, set1(r.x_sums[i * r.sums_row + g])));
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
      for (int v = 0; v < V; ++v) acc[i][v] = set1i(0);
    for (int64_t b = 0; b < r.blocks; ++b) {
      const uint8_t* p = r.panel + b * 256 + c * kVectorBytes;
#pragma GCC unroll 6
      for (int i = 0; i < R; ++i) {
        uint32_t four;
        __builtin_memcpy(&four, r.x + i * r.x_row + 4 * b, 4);
        const I x = flip(set1i(four), set1i(0x80808080u)), xe = low_words(x), xo = high_words(x);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
          const I w = loadi(p + v * kVectorBytes);
          acc[i][v] = plus(acc[i][v], plus(madd(low_words(w), xe), madd(high_words(w), xo)));
        }
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

}  // namespace

namespace quern::kernels {
constinit const QuantKernels QUANT_TABLE = {.unpack_q8 = unpack_q8,
                                            .unpack_q4 = unpack_q4,
                                            .to_floats = to_floats,
                                            .to_int8 = to_int8,
                                            .q8_rows = kLanes == 16 ? 2 : 1,
                                            .q4_rows = kLanes == 16 ? 4 : 1,
                                            .q8 = q8,
                                            .q4 = q4,
                                            .q8a8 = q8a8,
#ifdef QUANT_BYTE_PRODUCTS
                                            QUANT_BYTE_PRODUCTS
#endif
};
}  // namespace quern::kernels
