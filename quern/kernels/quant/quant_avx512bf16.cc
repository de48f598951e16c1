// quant_kernels.h with bf16 and byte products: a strip of up to 16 rows against a stretch of a panel, everything
// multiplied in the registers it was unpacked to. R rows × V vectors of 16 columns are summed at a time (R·V ≤ 24);
// the stretch is passed 4 / V times and lies in cache after the first; x is broadcast from memory as the product's
// operand. Per 64 bytes of q8: 3 shifts and shuffles, a mask, 4 conversions and 2 merging shuffles make two vectors
// of pairs for 2·R products. Per 64 bytes of q4: 3 shifts and 4 look-ups (vpermw reads 5 bits of its index: a table
// repeated twice needs no mask) for 4·R products; a group costs one multiply-add a row, two with a zero point. Zen 4:
// products go to two of four pipes, so that many rows hide the unpacking (16 rows: 34 cycles for 32 products), and a
// core that reads 25 GB/s has some 9 cycles for a line, in which up to three or four rows of q8 and two of q4 fit.
#include <array>
#include <utility>

#include "quern/kernels/quant/quant_fixed.h"
#include "quern/kernels/quant/quant_impl.h"

namespace {

using quern::kernels::QuantStrip;
constexpr int kMost = QuantStrip::kRows;

// Vectors of columns at a time: enough sums that none waits for the product before it, and registers left for
// weights.
constexpr int vectors(int rows) { return rows <= 4 ? 4 : rows <= 12 ? 2 : 1; }

inline F product(F sum, I w, uint32_t x) { return _mm512_dpbf16_ps(sum, (__m512bh)w, (__m512bh)set1i(x)); }
// One pass over everything is a stream that the hardware fetches best by itself.
template <int V>
inline void fetch(const uint8_t*& p) {
  if (V < 4) _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0), p += 64;
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
void q8_rows(const QuantStrip& s) {
  constexpr int V = vectors(R), kLine = static_cast<int>(QuantStrip::x_line(R));
  const uint8_t* next = s.next;
  for (int c = 0; c < 4; c += V) {
    F acc[R][V];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[i][v] = load(s.y + i * 64 + (c + v) * 16);
    const uint8_t* p = s.from + c * 64;
    const uint32_t* x = s.x;
    for (int64_t b = 0; b < s.blocks; ++b, p += 256, x += 2 * kLine) {
      I w[2][V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const I bytes = loadi(p + v * 64);
        w[0][v] = merged(to_float(left<24>(bytes)), to_float(byte_on_top<1>(bytes)));
        w[1][v] = merged(to_float(byte_on_top<2>(bytes)), to_float(masked(bytes, set1i(0xff000000u))));
        fetch<V>(next);
      }
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j)
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
          for (int v = 0; v < V; ++v) acc[i][v] = product(acc[i][v], w[j][v], x[j * kLine + i]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
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

template <int R, int K8, bool ASYM>  // K8: eighths of a group
void q4_rows(const QuantStrip& s) {
  // A single row takes turns between two sets of sums: its chains of products are too long otherwise.
  constexpr int V = vectors(R), kLine = static_cast<int>(QuantStrip::x_line(R)), kSets = R == 1 ? 2 : 1;
  constexpr int64_t head = ASYM ? 128 : 64;
  const I table = nibble_table(ASYM);
  const uint8_t* next = s.next;
  for (int c = 0; c < 4; c += V) {
    const uint8_t* p = s.from + c * 64;
    const uint32_t* x = s.x;
    for (int64_t g = 0; g < s.blocks; ++g) {
      const uint8_t* scales = p - c * 48;  // 16 bytes a vector here, 64 below
      F acc[kSets][R][V];
#pragma GCC unroll 2
      for (auto& set : acc)
#pragma GCC unroll 16
        for (auto& row : set)
#pragma GCC unroll 4
          for (F& sum : row) sum = zero();
      p += head;
      for (int b = 0; b < K8; ++b, p += 256, x += 4 * kLine) {
        I bits[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) bits[v] = loadi(p + v * 64), fetch<V>(next);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          I w[V];
#pragma GCC unroll 4
          for (int v = 0; v < V; ++v) w[v] = _mm512_permutexvar_epi16(bits[v], table), bits[v] = right<4>(bits[v]);
#pragma GCC unroll 16
          for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) {
              F& sum = acc[j % kSets][i][v];
              sum = product(sum, w[v], x[j * kLine + i]);
            }
        }
      }
      for (int64_t h = 0; c == 0 && h < head; h += 64) fetch<V>(next);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const F e = group_scales(scales + v * 16, ASYM);
        const F z = ASYM ? zero_points(scales + v * 16, ASYM) : zero();
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) {
          float* y = s.y + i * 64 + (c + v) * 16;
          F sum = acc[0][i][v];
          if (kSets > 1) sum = add(sum, acc[kSets - 1][i][v]);
          if (ASYM) sum = sub(sum, mul(z, set1(s.x_sums[g * kMost + i])));
          store(y, fma(e, sum, load(y)));
        }
      }
    }
  }
}

template <int R>
void q8a8_rows(const QuantStrip& s) {
  constexpr int V = vectors(R), kLine = static_cast<int>(QuantStrip::x_line(R));
  const uint8_t* next = s.next;
  for (int c = 0; c < 4; c += V) {
    I acc[R][V];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[i][v] = loadi(s.sums + i * 64 + (c + v) * 16);
    const uint8_t* p = s.from + c * 64;
    const uint32_t* x = s.x;
    for (int64_t b = 0; b < s.blocks; ++b, p += 256, x += kLine) {
      I w[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) w[v] = loadi(p + v * 64), fetch<V>(next);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[i][v] = _mm512_dpbusd_epi32(acc[i][v], set1i(x[i]), w[v]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) storei(s.sums + i * 64 + (c + v) * 16, acc[i][v]);
  }
}

using Kernels = std::array<void (*)(const QuantStrip&), kMost>;
template <int... R>
constexpr std::array<Kernels, 6> kernels_of(std::integer_sequence<int, R...>) {
  return {{{q8_rows<R + 1>...},
           {q8a8_rows<R + 1>...},
           {q4_rows<R + 1, 4, false>...},
           {q4_rows<R + 1, 4, true>...},
           {q4_rows<R + 1, 8, false>...},
           {q4_rows<R + 1, 8, true>...}}};
}
constexpr std::array<Kernels, 6> kKernels = kernels_of(std::make_integer_sequence<int, kMost>());
void run(int kernel, const QuantStrip& s) {
  kKernels[static_cast<size_t>(kernel)][static_cast<size_t>(s.rows - 1)](s);
}

void q8_strip(const QuantStrip& s) { run(0, s); }
void q8a8_strip(const QuantStrip& s) { run(1, s); }
void q4_strip(const QuantStrip& s) { run((s.group == 32 ? 2 : 4) + (s.asymmetric ? 1 : 0), s); }

}  // namespace

namespace quern::kernels {
constinit const QuantKernels quant_avx512bf16 = {.unpack_q8 = unpack_q8,
                                                 .unpack_q4 = unpack_q4,
                                                 .to_int8 = to_int8,
                                                 .q8_strip = q8_strip,
                                                 .q4_strip = q4_strip,
                                                 .q8a8_strip = q8a8_strip,
                                                 .to_fixed = quant_to_fixed,
                                                 .q8_fixed = quant_q8_fixed,
                                                 .q4_fixed = quant_q4_fixed};
}  // namespace quern::kernels
