// Tiled attention for float queries: prefill (many queries per key/value head), decode (few), backward, and the
// staging of operands they share.
#pragma once
#include <algorithm>
#include <cstring>

#include "quern/kernels/attention/attention.h"
#include "quern/kernels/attention/attention_simd.h"
#include "quern/kernels/attention/partial.h"
#include "quern/kernels/gemm/tile.h"

namespace quern::kernels {

template <class KV>
void attention_prefill(View<const float, 3> q, std::span<const AttentionSegment<KV>> segments,
                       AttentionOptions options, View<float, 3> o, View<float, 2> lse, Arena& scratch);
template <class KV>  // the same by matrix tiles, in bf16
void attention_prefill_tiles(View<const float, 3> q, std::span<const AttentionSegment<KV>> segments,
                             AttentionOptions options, View<float, 3> o, View<float, 2> lse, Arena& scratch);
template <class KV>
void attention_decode(View<const float, 3> q, std::span<const AttentionSegment<KV>> segments,
                      AttentionOptions options, View<float, 3> o, View<float, 2> lse, Arena& scratch);
void attention_backward_fast(const AttentionBackwardArgs<float>& a, Arena& scratch);
void attention_backward_tiles(const AttentionBackwardArgs<float>& a, int64_t longest, Arena& scratch);

const AttentionKernels& attention_kernels();  // of active_isa(), which must not be ref
bool attention_bf16(AttentionOptions o);      // products of pairs of bf16 asked for, and not slower than f32

constexpr int64_t kPanelKeys = kTileColumns;
// Packed operands of one batch of (segment, head) jobs: as much as a shared last-level cache holds.
constexpr int64_t kBatchBytes = int64_t{32} << 20;

inline int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
inline int64_t first_key(int64_t last, int64_t window) {
  return window > 0 ? std::max<int64_t>(0, last - window + 1) : 0;
}

// Which keys of a segment the query whose own key is `row` sees: [first(row), end(row)).
struct VisibleKeys {
  AttentionOptions options;
  int64_t k_len;

  bool both() const { return options.sight == Sight::both; }
  int64_t first(int64_t row) const {
    if (!both()) return first_key(row, options.window);
    return options.window > 0 ? std::max<int64_t>(0, row - options.window) : 0;
  }
  int64_t end(int64_t row) const {
    if (!both()) return row + 1;
    return options.window > 0 ? std::min(k_len, row + options.window + 1) : k_len;
  }
  // Of rows from `row` on against keys from `key` on.
  void mask(SoftmaxTile& t, int64_t row, int64_t key) const {
    t.limit = k_len - key;
    t.step = both() && options.window == 0 ? 0 : 1;
    t.first = options.window == 0 ? -kKeyTile : row - options.window + !both() - key;
    t.end = (t.step == 0 ? k_len : row + 1 + (both() ? options.window : 0)) - key;
  }
};

// A row of a cache in 8 bits, and what it is multiplied with.
struct RowQ8 {
  const int8_t* x;
  float scale;
};
template <class KV>
const KV* cache_row(View<const KV, 3> x, View<const float, 2>, int64_t key, int64_t head) {
  return &x(key, head, 0);
}
inline RowQ8 cache_row(View<const int8_t, 3> x, View<const float, 2> scale, int64_t key, int64_t head) {
  return {&x(key, head, 0), scale(key, head)};
}

// How operands are stored for the tile kernels: floats, or bf16 pairs along the summed dimension, 4 bytes either way.
struct Operands {
  const TileKernels& tile = tile_kernels();
  const AttentionKernels& simd = attention_kernels();
  bool bf16_math = false;

  int64_t steps(int64_t k) const { return bf16_math ? (k + 1) / 2 : k; }  // tile elements of k values
  // Elements in a row-major operand; a line to spare keeps rows of a power of two out of the same cache sets.
  int64_t row(int64_t k) const { return round_up(steps(k), 16) + 16; }
  void run(const Tile& t) const { bf16_math ? tile.bf16(t) : tile.f32(t); }

  void widen(const float* x, int64_t n, int64_t n_pad, float* y) const { simd.scale(x, 1, n, n_pad, y); }
  void widen(const bf16* x, int64_t n, int64_t n_pad, float* y) const {
    simd.widen(reinterpret_cast<const uint16_t*>(x), n, n_pad, y);
  }
  void widen(RowQ8 r, int64_t n, int64_t n_pad, float* y) const { simd.widen_q8(r.x, r.scale, n, n_pad, y); }
  // A row-major row of `steps(n)` elements from f · x. line: n floats of scratch.
  template <class X>
  void row_major(const X* x, float f, int64_t n, float* line, uint32_t* to) const {
    if constexpr (std::is_same_v<X, float>) {
      if (!bf16_math) return simd.scale(x, f, n, n, reinterpret_cast<float*>(to));
      if (f != 1) simd.scale(x, f, n, n, line), x = line;
      tile.to_bf16(x, n, 2 * steps(n), reinterpret_cast<uint16_t*>(to));
    } else if (bf16_math) {
      auto* y = reinterpret_cast<uint16_t*>(to);
      std::memcpy(y, x, static_cast<size_t>(n) * sizeof(uint16_t));
      if (n % 2) y[n] = 0;
    } else {
      widen(x, n, n, reinterpret_cast<float*>(to));
    }
  }
  void row_major(RowQ8 r, float f, int64_t n, float* line, uint32_t* to) const {
    widen(r, n, n, line);
    row_major<float>(line, f, n, line, to);
  }
  // Rows as the right-hand operand whose summed dimension runs over rows: [steps(rows_pad)][width] elements. lines: 2 ·
  // width floats of scratch. at(i) points to row i.
  struct AcrossRows {
    int64_t rows, rows_pad;  // those past `rows` are zero
    float f;                 // a factor
    int64_t n, width;        // elements of a row: there, and with zeros behind them
  };
  template <class At>
  void across_rows(At&& at, const AcrossRows& a, float* lines, uint32_t* to) const {
    auto fill = [&](int64_t i, float* y) {
      if (i >= a.rows) return std::fill(y, y + a.width, 0.0f);
      widen(at(i), a.n, a.width, y);
      if (a.f != 1) simd.scale(y, a.f, a.width, a.width, y);
    };
    if (!bf16_math) {
      for (int64_t i = 0; i < a.rows_pad; ++i) fill(i, reinterpret_cast<float*>(to) + i * a.width);
      return;
    }
    for (int64_t i = 0; i < a.rows_pad; i += 2) {
      fill(i, lines), fill(i + 1, lines + a.width);
      tile.pair(lines, lines + a.width, a.width, to + i / 2 * a.width);
    }
  }
  // C (+)= A·B over `width` columns in tiles of nearly equal width: 80 is 48 + 32, not 64 + 16.
  void columns(Tile t, int64_t width) const {
    int64_t groups = width / 16, parts = (groups + 3) / 4;
    const char* b = static_cast<const char*>(t.b);
    float* c = t.c;
    for (int64_t p = 0; p < parts; ++p) {
      int64_t from = groups * p / parts, to = groups * (p + 1) / parts;
      t.b = b + from * 16 * 4, t.c = c + from * 16, t.groups = static_cast<int>(to - from);
      run(t);
    }
  }
};

}  // namespace quern::kernels
