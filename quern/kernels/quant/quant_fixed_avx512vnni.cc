// quant_fixed.h in AVX-512 with byte products. Per 64 bytes of weights and row: q4 one shift, two masks and four
// products, q8 one exclusive or (bytes become 0 … 255; 128 Σx is subtracted from a block's sum) and two products.
#include "quern/kernels/quant/quant_fixed.h"

#include <array>
#include <utility>

#include "quern/kernels/quant/quant_impl.h"

namespace {

using quern::kernels::kFixedQ8Block;
using quern::kernels::kFixedRows;
using quern::kernels::QuantRowBlock;

constexpr int kMax = 32639;  // 127·256 + 127: both bytes are signed

inline I product(I sum, I weights, uint32_t x) { return _mm512_dpbusd_epi32(sum, weights, set1i(x)); }
inline I whole(I upper, I lower) { return plus(left<8>(upper), lower); }

// The largest |x| of n values; as bits of bf16, whose order is that of whole numbers. A NaN is larger than all.
inline uint16_t largest(const uint16_t* x, int64_t n) {
  I maximum = set1i(0);
  for (int64_t p = 0; p < n; p += 32)
    maximum = _mm512_max_epu16(maximum, _mm512_and_si512(loadi(x + p), _mm512_set1_epi16(0x7fff)));
  const __m256i half = _mm256_max_epu16(_mm512_castsi512_si256(maximum), _mm512_extracti64x4_epi64(maximum, 1));
  const __m128i few = _mm_max_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  const __m128i flipped = _mm_xor_si128(few, _mm_set1_epi16(-1));  // there is a smallest of words, but no largest
  return static_cast<uint16_t>(~_mm_extract_epi16(_mm_minpos_epu16(flipped), 0));
}

// A power of two by which the largest becomes a whole number of 15 bits.
inline float to_whole(float maximum) {
  constexpr uint32_t kExponent = 0x7f800000u;
  if (maximum == 0) return 0;
  const float room = static_cast<float>(kMax) / maximum;  // denormal values of x may leave more than a float holds
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, __builtin_fminf(room, 0x1p126f)) & kExponent);
}

inline float wide(uint16_t x) { return __builtin_bit_cast(float, uint32_t{x} << 16); }

// Two bytes of every value to where the kernels look for them, eight values (a lane of 128 bits) at a time.
inline I order(bool four) {
  return _mm512_broadcast_i32x4(four ? _mm_setr_epi8(1, 9, 3, 11, 5, 13, 7, 15, 0, 8, 2, 10, 4, 12, 6, 14)
                                     : _mm_setr_epi8(1, 3, 5, 7, 0, 2, 4, 6, 9, 11, 13, 15, 8, 10, 12, 14));
}

// N rows of R, from `first` on, against n · 4 values of k. Three and four rows pass a block twice, two at a time: all
// columns of two rows have their sums in registers, and the first pass is one stream through memory.
template <int N, int R>
inline void q8_block(const QuantRowBlock& s, const uint8_t* w, const uint32_t* x, int64_t g, int64_t n, int first) {
  const I top = set1i(0x80808080u);
  I upper[N][4], lower[N][4];
#pragma GCC unroll 2
  for (int i = 0; i < N; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) upper[i][v] = lower[i][v] = set1i(0);
  x += first;
  for (int64_t b = 0; b < n; ++b, w += 256, x += 2 * R)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const I bytes = _mm512_xor_si512(loadi(w + v * 64), top);
#pragma GCC unroll 2
      for (int i = 0; i < N; ++i) {
        upper[i][v] = product(upper[i][v], bytes, x[i]);
        lower[i][v] = product(lower[i][v], bytes, x[R + i]);
      }
    }
#pragma GCC unroll 2
  for (int i = 0; i < N; ++i) {
    const I off = set1i(static_cast<uint32_t>(-128 * s.fixed_sums[g * R + first + i]));
    const F scale = set1(s.fixed_scales[g * R + first + i]);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      float* y = s.y + (first + i) * 64 + v * 16;
      store(y, fma(to_float(plus(whole(upper[i][v], lower[i][v]), off)), scale, load(y)));
    }
  }
}

template <int R>
void q8_rows(const QuantRowBlock& s) {
  const uint32_t* x = s.x;
  const uint8_t* p = s.from;
  for (int64_t g = 0, left_over = s.blocks; left_over > 0; ++g) {
    const int64_t n = left_over < kFixedQ8Block / 4 ? left_over : kFixedQ8Block / 4;
    q8_block<R == 1 ? 1 : 2, R>(s, p, x, g, n, 0);
    if constexpr (R > 2) q8_block<R - 2, R>(s, p, x, g, n, 2);
    p += n * 256, x += n * 2 * R, left_over -= n;
  }
}

template <int N, int R, int K8, bool ASYM>  // K8: eighths of a group
inline void q4_block(const QuantRowBlock& s, const uint8_t* p, const uint32_t* x, int64_t g, int first) {
  const I nibbles = set1i(0x0f0f0f0fu);
  I upper[N][4], lower[N][4];
#pragma GCC unroll 2
  for (int i = 0; i < N; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) upper[i][v] = lower[i][v] = set1i(0);
  const uint8_t* w = p + (ASYM ? 128 : 64);
  x += first;
#pragma GCC unroll 2
  for (int b = 0; b < K8; ++b, w += 256, x += 4 * R)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const I bits = loadi(w + v * 64), even = masked(bits, nibbles), odd = masked(right<4>(bits), nibbles);
#pragma GCC unroll 2
      for (int i = 0; i < N; ++i) {
        upper[i][v] = product(product(upper[i][v], even, x[i]), odd, x[R + i]);
        lower[i][v] = product(product(lower[i][v], even, x[2 * R + i]), odd, x[3 * R + i]);
      }
    }
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const F e = group_scales(p + v * 16, ASYM);
    const F z = ASYM ? zero_points(p + v * 16, ASYM) : zero();
#pragma GCC unroll 2
    for (int i = 0; i < N; ++i) {
      float* y = s.y + (first + i) * 64 + v * 16;
      const int32_t sum = s.fixed_sums[g * R + first + i];
      const I total = whole(upper[i][v], lower[i][v]);
      const F of_group = ASYM ? sub(to_float(total), mul(z, set1(static_cast<float>(sum))))
                              : to_float(plus(total, set1i(static_cast<uint32_t>(-8 * sum))));
      store(y, fma(mul(e, set1(s.fixed_scales[g * R + first + i])), of_group, load(y)));
    }
  }
}

template <int R, int K8, bool ASYM>
void q4_rows(const QuantRowBlock& s) {
  const uint8_t* p = s.from;
  const uint32_t* x = s.x;
  for (int64_t g = 0; g < s.blocks; ++g, p += (ASYM ? 128 : 64) + K8 * 256, x += K8 * 4 * R) {
    q4_block<R == 1 ? 1 : 2, R, K8, ASYM>(s, p, x, g, 0);
    if constexpr (R > 2) q4_block<R - 2, R, K8, ASYM>(s, p, x, g, 2);
  }
}

using Kernels = std::array<void (*)(const QuantRowBlock&), kFixedRows>;
template <int... R>
constexpr std::array<Kernels, 5> kernels_of(std::integer_sequence<int, R...>) {
  return {{{q8_rows<R + 1>...},
           {q4_rows<R + 1, 4, false>...},
           {q4_rows<R + 1, 4, true>...},
           {q4_rows<R + 1, 8, false>...},
           {q4_rows<R + 1, 8, true>...}}};
}
constexpr std::array<Kernels, 5> kKernels = kernels_of(std::make_integer_sequence<int, kFixedRows>());
void run(int kernel, const QuantRowBlock& s) {
  kKernels[static_cast<size_t>(kernel)][static_cast<size_t>(s.rows - 1)](s);
}

}  // namespace

namespace quern::kernels {

void quant_to_fixed(QuantToFixed a) {
  const I bytes = order(a.four);
  for (int64_t p = 0, b = 0; p < a.n; ++b) {
    const int64_t end = p + a.block < a.n ? p + a.block : a.n;
    const uint16_t maximum = largest(a.x + p, end - p);
    const bool finite = maximum < 0x7f80;
    const float up = finite ? to_whole(wide(maximum)) : 0;
    const F scale = set1(up);
    I sum = set1i(0);
    for (; p < end; p += 32) {
      const I first = to_int(mul(widen(a.x + p), scale)), second = to_int(mul(widen(a.x + p + 16), scale));
      sum = plus(sum, plus(first, second));
      const I words =
          _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(first)), _mm512_cvtepi32_epi16(second), 1);
      // The lower byte as a signed one, the upper rounded up where that is negative.
      const I upper = _mm512_add_epi16(words, _mm512_set1_epi16(128));
      const I both = _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaaull, words, upper);
      storei(a.to + p / 2, _mm512_shuffle_epi8(both, bytes));
    }
    a.scales[b * a.stride] = !finite ? __builtin_nanf("") : up > 0 ? 1 / up : 0;
    a.sums[b * a.stride] = finite ? _mm512_reduce_add_epi32(sum) : 0;
  }
}

void quant_q8_fixed(const QuantRowBlock& s) { run(0, s); }
void quant_q4_fixed(const QuantRowBlock& s) { run((s.group == 32 ? 1 : 3) + (s.asymmetric ? 1 : 0), s); }

}  // namespace quern::kernels
