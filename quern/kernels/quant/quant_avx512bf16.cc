// quant_kernels.h with bf16 and byte products: a row block of up to 16 rows times a span of a panel, multiplied in the
// registers it was dequantized to (q8 and q4 of up to four rows: quant_fixed.h). The span is passed once for every V
// vectors of 16 columns and is in cache after the first pass; x is broadcast from memory as the product's operand. Per
// 64 bytes of q8: 3 shifts and shuffles, a mask, 4 conversions and 2 merging shuffles make two vectors of pairs for 2
// products per row. Per 64 bytes of q4: 3 shifts and 4 lookups (vpermw reads 5 bits of its index: a table repeated
// twice needs no mask) for 4 products per row; a group costs one multiply-add per row, two with a zero point. Zen 4
// executes products on two of its four pipes and hides the rest in the others, if it sees it in time: a dozen cycles
// pass from a byte to a pair, and a core whose other hardware thread is busy looks no further ahead than the 32
// products of a step. So weights are dequantized one step before they are multiplied.
#include <array>
#include <utility>

#include "quern/kernels/quant/quant_fixed.h"
#include "quern/kernels/quant/quant_impl.h"

namespace {

using quern::kernels::QuantRowBlock;
constexpr int kMax = QuantRowBlock::kRows;

// x from memory into every lane within the product itself, which compilers do not find: half as many operations.
inline void add_product(F& sum, I w, const uint32_t& x) {
  asm("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(w), "m"(x));
}
inline void fetch(const uint8_t*& p, int64_t step = 64) {
  _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0), p += step;
}

// Byte N of every lane at its top, the rest zero.
template <int N>
inline I byte_on_top(I b) {
  return _mm512_shuffle_epi8(b, _mm512_broadcast_i32x4(_mm_setr_epi8(-1, -1, -1, N, -1, -1, -1, N + 4, -1, -1, -1,
                                                                     N + 8, -1, -1, -1, N + 12)));
}
// `paired` in one operation: the upper bytes of `even` into the lower ones of `odd`.
inline I merged(F even, F odd) {
  const I upper = _mm512_broadcast_i32x4(_mm_setr_epi8(2, 3, -1, -1, 6, 7, -1, -1, 10, 11, -1, -1, 14, 15, -1, -1));
  return _mm512_mask_shuffle_epi8(_mm512_castps_si512(odd), 0x3333333333333333ull, _mm512_castps_si512(even), upper);
}

template <int R>
void q8_rows(const QuantRowBlock& s) {
  constexpr int V = R <= 9 ? 2 : 1;
  const uint8_t* next = s.next;
  for (int c = 0; c < 4; c += V) {
    F acc[R][V];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) acc[i][v] = load(s.y + i * 64 + (c + v) * 16);
    const uint8_t* p = s.from + c * 64;
    const uint32_t* x = s.x;
    I w[2][V];
    const auto unpack = [](const uint8_t* from, I(&to)[2][V]) {
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) {
        const I bytes = loadi(from + v * 64);
        to[0][v] = merged(to_float(left<24>(bytes)), to_float(byte_on_top<1>(bytes)));
        to[1][v] = merged(to_float(byte_on_top<2>(bytes)), to_float(masked(bytes, set1i(0xff000000u))));
      }
    };
    unpack(p, w);
    for (int64_t b = s.blocks; b > 0; --b, x += 2 * kMax) {
      I ahead[2][V];
      p += b > 1 ? 256 : 0;
      unpack(p, ahead);
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) fetch(next);
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j)
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
          for (int v = 0; v < V; ++v) add_product(acc[i][v], w[j][v], x[j * kMax + i]);
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) w[j][v] = ahead[j][v];
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) store(s.y + i * 64 + (c + v) * 16, acc[i][v]);
  }
}

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

// N rows from `first` on against two vectors of columns: sums of a group and of the groups before lie in registers,
// which takes no more than eight rows. `step`: 64, or 0 where `next` is fetched by others.
template <int N, int K8, bool ASYM>  // K8: eighths of a group
void q4_part(const QuantRowBlock& s, int first, int c, const uint8_t*& next, int64_t step) {
  constexpr int V = N <= 5 ? 2 : 1;
  constexpr int64_t head = ASYM ? 128 : 64;
  const I table = nibble_table(ASYM);
  for (const int end = c + 2; c < end; c += V) {
    float* const sums = s.y + first * 64 + c * 16;
    F y[N][V];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) y[i][v] = load(sums + i * 64 + v * 16);
    const uint8_t* p = s.from + c * 64 + head;
    const uint32_t* x = s.x + first;
    I bits[V], w[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) bits[v] = loadi(p + v * 64), w[v] = _mm512_permutexvar_epi16(bits[v], table);
    for (int64_t g = 0; g < s.blocks; ++g) {
      const uint8_t* scales = p - head - c * 48;  // 16 bytes a vector here, 64 below
      const uint8_t* after = g + 1 < s.blocks ? p + K8 * 256 + head : p;
      F acc[N][V];
#pragma GCC unroll 8
      for (auto& row : acc)
#pragma GCC unroll 2
        for (F& sum : row) sum = zero();
#pragma GCC unroll 8
      for (int b = 1; b <= K8; ++b, x += 4 * kMax) {
        I ahead[V];
        p = b < K8 ? p + 256 : after;
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
          ahead[v] = loadi(p + v * 64);
          fetch(next, step);
        }
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          I w_ahead[V];
#pragma GCC unroll 2
          for (int v = 0; v < V; ++v) {
            bits[v] = j < 3 ? right<4>(bits[v]) : ahead[v];
            w_ahead[v] = _mm512_permutexvar_epi16(bits[v], table);
          }
#pragma GCC unroll 8
          for (int i = 0; i < N; ++i)
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) add_product(acc[i][v], w[v], x[j * kMax + i]);
#pragma GCC unroll 2
          for (int v = 0; v < V; ++v) w[v] = w_ahead[v];
        }
      }
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) {
        const F e = group_scales(scales + v * 16, ASYM);
        const F below = ASYM ? sub(zero(), zero_points(scales + v * 16, ASYM)) : zero();
#pragma GCC unroll 8
        for (int i = 0; i < N; ++i) {
          const F of_group = ASYM ? fma(below, set1(s.x_sums[g * kMax + first + i]), acc[i][v]) : acc[i][v];
          y[i][v] = fma(e, of_group, y[i][v]);
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) store(sums + i * 64 + v * 16, y[i][v]);
  }
}

template <int R, int K8, bool ASYM>
void q4_rows(const QuantRowBlock& s) {
  const uint8_t* next = s.next;
  for (int c = 0; c < 4; c += 2) {
    q4_part<R <= 8 ? R : (R + 1) / 2, K8, ASYM>(s, 0, c, next, 64);
    if constexpr (R > 8) q4_part<R / 2, K8, ASYM>(s, (R + 1) / 2, c, next, 0);
  }
  for (int64_t h = 0; h < s.blocks * (ASYM ? 2 : 1); ++h) fetch(next);
}

using Kernel = void (*)(const QuantRowBlock&);
constexpr int kFew = quern::kernels::kFixedRows;
template <int... R>
constexpr auto kernels(std::integer_sequence<int, R...>) {
  return std::array<std::array<Kernel, kMax - kFew>, 5>{{{q8_rows<R + kFew + 1>...},
                                                         {q4_rows<R + kFew + 1, 4, false>...},
                                                         {q4_rows<R + kFew + 1, 4, true>...},
                                                         {q4_rows<R + kFew + 1, 8, false>...},
                                                         {q4_rows<R + kFew + 1, 8, true>...}}};
}
constexpr auto kKernels = kernels(std::make_integer_sequence<int, kMax - kFew>());
void run(size_t kernel, const QuantRowBlock& s) { kKernels[kernel][static_cast<size_t>(s.rows - kFew - 1)](s); }

void q8_row_block(const QuantRowBlock& s) { run(0, s); }
void q4_row_block(const QuantRowBlock& s) { run((s.group == 32 ? 1u : 3u) + (s.asymmetric ? 1 : 0), s); }

}  // namespace

namespace quern::kernels {
constinit const QuantKernels quant_avx512bf16 = {.unpack_q8 = unpack_q8,
                                                 .unpack_q4 = unpack_q4,
                                                 .to_floats = to_floats,
                                                 .to_int8 = to_int8,
                                                 .q8_row_block = q8_row_block,
                                                 .q4_row_block = q4_row_block,
                                                 .q8a8_row_block = quant_q8a8_row_block,
                                                 .to_fixed = quant_to_fixed,
                                                 .q8_fixed = quant_q8_fixed,
                                                 .q4_fixed = quant_q4_fixed};
}  // namespace quern::kernels
