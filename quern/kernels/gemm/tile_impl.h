// tile.h's kernels, written once over simd.h and compiled per instruction set; KERNELS names the table to define.
// BF16_BY_FMA: bf16 products by f32 FMAs although there are others, for processors where those are slower.
#include <algorithm>

#include "quern/kernels/gemm/simd.h"
#include "quern/kernels/gemm/tile.h"

namespace {

using quern::kernels::FromTiles;
using quern::kernels::Tile;
constexpr int kVectors = 16 / kLanes;  // registers in a group of 16 columns
constexpr int kStepGroups = kLanes == 16 ? 4 : 1;

inline void fetch(const char*& p, int lines) {
  if (lines == 0) return;
  _mm_prefetch(p, _MM_HINT_T1);
  if (lines > 1) _mm_prefetch(p + 64, _MM_HINT_T1);
  p += 64 * lines;
}

template <int R, int V>
inline void start(const Tile& t, float* c, F (&acc)[R][V]) {
  if (t.add) {
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[i][v] = load(c + i * t.c_row + v * kLanes);
    return;
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) acc[i][v] = zero();
}

template <int R, int V>
inline void finish(const Tile& t, float* c, F (&acc)[R][V]) {
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) store(c + i * t.c_row + v * kLanes, acc[i][v]);
}

template <int R, int V>
void f32_block(const Tile& t, int64_t column) {
  const float* a = static_cast<const float*>(t.a);
  const float* b = static_cast<const float*>(t.b) + column;
  const char* next = t.prefetch;
  F acc[R][V];
  start<R, V>(t, t.c + column, acc);
  for (int64_t k = 0; k < t.k; ++k) {
    F w[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) w[v] = load(b + v * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      F x = set1(a[i * t.a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[i][v] = fma(x, w[v], acc[i][v]);
    }
    fetch(next, t.prefetch_lines);
    a += t.a_k;
    b += t.b_k;
  }
  finish<R, V>(t, t.c + column, acc);
}

template <int R, int V>
void bf16_block(const Tile& t, int64_t column) {
  const uint32_t* a = static_cast<const uint32_t*>(t.a);
  const uint32_t* b = static_cast<const uint32_t*>(t.b) + column;
  const char* next = t.prefetch;
  F acc[R][V];
  start<R, V>(t, t.c + column, acc);
  for (int64_t k = 0; k < t.k; ++k) {
#if defined(__AVX512BF16__) && !defined(BF16_BY_FMA)
    I w[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) w[v] = loadi(b + v * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      I x = set1i(a[i * t.a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[i][v] = _mm512_dpbf16_ps(acc[i][v], (__m512bh)x, (__m512bh)w[v]);
    }
#else  // a bf16 is the upper half of a float: widen both halves of the pair and multiply in f32
    F w[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) w[v] = low_half(loadi(b + v * kLanes));
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      F x = low_half(set1i(a[i * t.a_row]));
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[i][v] = fma(x, w[v], acc[i][v]);
    }
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) w[v] = high_half(loadi(b + v * kLanes));
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      F x = high_half(set1i(a[i * t.a_row]));
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[i][v] = fma(x, w[v], acc[i][v]);
    }
#endif
    fetch(next, t.prefetch_lines);
    a += t.a_k;
    b += t.b_k;
  }
  finish<R, V>(t, t.c + column, acc);
}

// Weights that are bf16 by themselves against floats that are not: each pair is widened and multiplied in f32, its
// even half first, so that the sums have the bits f32_block gives them.
template <int R, int V>
void widened_block(const Tile& t, int64_t column) {
  const float* a = static_cast<const float*>(t.a);
  const uint32_t* b = static_cast<const uint32_t*>(t.b) + column;
  const char* next = t.prefetch;
  F acc[R][V];
  start<R, V>(t, t.c + column, acc);
  for (int64_t k = 0; k < t.k; ++k) {
    I pairs[V];
    F w[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) pairs[v] = loadi(b + v * kLanes), w[v] = low_half(pairs[v]);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      F x = set1(a[i * t.a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[i][v] = fma(x, w[v], acc[i][v]);
    }
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) w[v] = high_half(pairs[v]);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      F x = set1(a[i * t.a_row + t.a_k]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[i][v] = fma(x, w[v], acc[i][v]);
    }
    fetch(next, t.prefetch_lines);
    a += 2 * t.a_k;
    b += t.b_k;
  }
  finish<R, V>(t, t.c + column, acc);
}

enum class TileFormat { f32, bf16, widened };

template <int R, TileFormat K>
void rows_block(const Tile& t) {
  auto run = [&]<int V>(int64_t column) {
    if constexpr (K == TileFormat::bf16)
      bf16_block<R, V>(t, column);
    else if constexpr (K == TileFormat::widened)
      widened_block<R, V>(t, column);
    else
      f32_block<R, V>(t, column);
  };
  if constexpr (kLanes == 8) {
    for (int g = 0; g < t.groups; ++g) run.template operator()<2>(16 * g);
  } else {
    switch (t.groups) {
      case 1:
        return run.template operator()<1>(0);
      case 2:
        return run.template operator()<2>(0);
      case 3:
        return run.template operator()<3>(0);
      default:
        return run.template operator()<4>(0);
    }
  }
}

template <TileFormat K>
void tile(const Tile& t) {
  switch (t.rows) {
    case 1:
      return rows_block<1, K>(t);
    case 2:
      return rows_block<2, K>(t);
    case 3:
      return rows_block<3, K>(t);
    case 4:
      return rows_block<4, K>(t);
    case 5:
      return rows_block<5, K>(t);
    default:
      return rows_block<6, K>(t);
  }
}

void to_bf16(const float* x, int64_t n, int64_t n_pad, uint16_t* y) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_bf16(y + i, load(x + i));
  if (i < n) {
    float rest[kLanes] = {};
    uint16_t out[kLanes];
    for (int64_t j = i; j < n; ++j) rest[j - i] = x[j];
    store_bf16(out, load(rest));
    for (int64_t j = i; j < n; ++j) y[j] = out[j - i];
  }
  for (i = n; i < n_pad; ++i) y[i] = 0;
}

void rounded(const float* x, int64_t n, int64_t n_pad, float* y) {
  int64_t i = 0;
  uint16_t half[kLanes];
  for (; i + kLanes <= n; i += kLanes) {
    store_bf16(half, load(x + i));
    store(y + i, widen(half));
  }
  if (i < n) {
    float rest[kLanes] = {};
    std::copy(x + i, x + n, rest);
    store_bf16(half, load(rest));
    store(rest, widen(half));
    std::copy(rest, rest + (n - i), y + i);
  }
  std::fill(y + n, y + n_pad, 0.0f);
}

void pair(const float* even, const float* odd, int64_t n, uint32_t* y) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) storei(y + i, pair_up(load(even + i), load(odd + i)));
  if (i == n) return;
  float rest[2][kLanes] = {};
  uint32_t out[kLanes];
  std::copy(even + i, even + n, rest[0]);
  std::copy(odd + i, odd + n, rest[1]);
  storei(out, pair_up(load(rest[0]), load(rest[1])));
  std::copy(out, out + (n - i), y + i);
}

#if defined(__AVX512F__)
// 16 × 16: each stage doubles the run of elements that already lie in their final column order.
inline void transpose_block(const uint32_t* src, int64_t src_row, uint32_t* dst, int64_t dst_row) {
  __m512i r[16], s[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = loadi(src + i * src_row);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    s[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    s[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(s[i], s[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(s[i], s[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(s[i + 1], s[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(s[i + 1], s[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    s[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    s[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
    s[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    s[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {  // s[i]: columns i and i+8 of rows 0–7; s[i+8]: of rows 8–15
    storei(dst + i * dst_row, _mm512_shuffle_i32x4(s[i], s[i + 8], 0x88));
    storei(dst + (i + 8) * dst_row, _mm512_shuffle_i32x4(s[i], s[i + 8], 0xdd));
  }
}
#else
inline void transpose_block(const uint32_t* src, int64_t src_row, uint32_t* dst, int64_t dst_row) {
  F r[8], s[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) r[i] = _mm256_castsi256_ps(loadi(src + i * src_row));
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2)
    s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]), s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    storei(dst + i * dst_row, _mm256_castps_si256(_mm256_permute2f128_ps(r[i], r[i + 4], 0x20)));
    storei(dst + (i + 4) * dst_row, _mm256_castps_si256(_mm256_permute2f128_ps(r[i], r[i + 4], 0x31)));
  }
}
#endif

void transpose(const uint32_t* src, int64_t src_row, int64_t rows, int64_t columns, uint32_t* dst, int64_t dst_row) {
  int64_t i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    int64_t j = 0;
    for (; j + kLanes <= columns; j += kLanes)
      transpose_block(src + i * src_row + j, src_row, dst + j * dst_row + i, dst_row);
    for (; j < columns; ++j)
      for (int64_t r = i; r < i + kLanes; ++r) dst[j * dst_row + r] = src[r * src_row + j];
  }
  for (; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) dst[j * dst_row + i] = src[i * src_row + j];
}

template <class Value>
inline Value from_tile(const FromTiles& f, Value sum, Value before, Value scale, Value bias) {
  if (f.scale) sum = mul(sum, scale);
  if (f.bias) sum = add(sum, bias);
  return f.add ? add(before, sum) : sum;
}

void from_tiles(const FromTiles& f) {
  const F unit = set1(f.unit);
  for (int64_t r = 0; r < f.rows; ++r) {
    float* y = f.y + r * f.y_row;
    for (int64_t c = 0; c < f.columns; c += kLanes) {
      const float* sums = f.sums + c / 16 * 256 + 16 * r + c % 16;
      const int n = static_cast<int>(f.columns - c < kLanes ? f.columns - c : kLanes);
      float rest[3][kLanes];  // before, scale, bias of fewer columns than a register has
      const bool whole = n == kLanes;
      const auto at = [&](const float* p, float* copy) {
        if (!p) return zero();
        if (whole) return load(p + c);
        std::copy(p + c, p + c + n, copy);
        std::fill(copy + n, copy + kLanes, 0.0f);
        return load(copy);
      };
      const F x = from_tile(f, load(sums), at(f.add ? y : nullptr, rest[0]), mul(at(f.scale, rest[1]), unit),
                            at(f.bias, rest[2]));
      if (whole) {
        store(y + c, x);
      } else {
        store(rest[0], x);
        std::copy(rest[0], rest[0] + n, y + c);
      }
    }
  }
}

}  // namespace

namespace quern::kernels {
const TileKernels& KERNELS() {
  static constexpr TileKernels table{KERNELS_NAME,
                                     kStepGroups,
                                     tile<TileFormat::f32>,
                                     tile<TileFormat::bf16>,
                                     tile<TileFormat::widened>,
                                     to_bf16,
                                     rounded,
                                     pair,
                                     transpose,
                                     from_tiles};
  return table;
}
}  // namespace quern::kernels
