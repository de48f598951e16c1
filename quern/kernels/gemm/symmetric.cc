// Fast symmetric_product and gemm_bf16: a work item is a panel of 64 columns of C and up to 384 of its rows. For each
// block of K the panel of the right operand is copied (transposed, or with pairs of rows interleaved) into scratch,
// the rows are multiplied by it six at a time, or thirty-two by matrix tiles, and the finished item is scaled, rounded, written and mirrored. Why 384
// × 64 × 256 words: panel 64 KiB + sums 96 KiB + rows 384 KiB stay in a second-level cache of 1 MiB.
#include "quern/kernels/gemm/symmetric.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "quern/base/arena.h"
#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/cpu/amx.h"
#include "quern/kernels/cpu/products.h"
#include "quern/kernels/gemm/tile.h"
#include "quern/trace/trace.h"

namespace quern::kernels {
namespace {

constexpr int64_t kItemRows = 384, kBlockWords = 256;

// Operands as 32-bit words: a float, or a pair of bf16 along the extent that is summed over.
struct Words {
  const uint32_t* data;
  int64_t row;  // words from one row to the next
};

template <class T>
Words words(View<const T, 2> v) {
  constexpr int64_t kEach = static_cast<int64_t>(sizeof(uint32_t) / sizeof(T));
  QUERN_CHECK(v.stride[0] % kEach == 0 && reinterpret_cast<uintptr_t>(v.data) % sizeof(uint32_t) == 0,
              "rows of a bf16 operand must start at even elements, stride {}", v.stride[0]);
  return {reinterpret_cast<const uint32_t*>(v.data), v.stride[0] / kEach};
}

// panel[p, j] for p in [k0, k0 + kn) words and j in [j0, j0 + jn): X's rows as columns.
void transposed_panel(const TileKernels& t, Words x, int64_t k0, int64_t kn, int64_t j0, int64_t jn,
                      uint32_t* panel) {
  t.transpose(x.data + j0 * x.row + k0, x.row, jn, kn, panel, kTileColumns);
}

// panel[p, j] = (B[2p, j], B[2p + 1, j]).
void interleaved_panel(View<const bf16, 2> b, int64_t k0, int64_t kn, int64_t j0, int64_t jn, uint32_t* panel) {
  for (int64_t p = 0; p < kn; ++p) {
    const bf16 *even = b.row(2 * (k0 + p)) + j0, *odd = b.row(2 * (k0 + p) + 1) + j0;
    uint32_t* out = panel + p * kTileColumns;
    for (int64_t j = 0; j < jn; ++j) out[j] = even[j].bits | static_cast<uint32_t>(odd[j].bits) << 16;
  }
}

void scale(const float* sums, int64_t n, const float* s, float alpha, float beta, float* out) {
  if (beta == 0)
    for (int64_t j = 0; j < n; ++j) out[j] = alpha * sums[j];
  else
    for (int64_t j = 0; j < n; ++j) out[j] = alpha * sums[j] + beta * s[j];
}
void scale(const float* sums, int64_t n, const bf16* s, float alpha, float beta, float* out) {
  if (beta == 0)
    for (int64_t j = 0; j < n; ++j) out[j] = alpha * sums[j];
  else
    for (int64_t j = 0; j < n; ++j) out[j] = alpha * sums[j] + beta * static_cast<float>(s[j]);
}

void put(const TileKernels&, const float* from, int64_t n, float* to) {
  std::memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
}
void put(const TileKernels& t, const float* from, int64_t n, bf16* to) {
  t.to_bf16(from, n, n, reinterpret_cast<uint16_t*>(to));
}

template <class T>
struct Product {
  Words a;
  int64_t k_words;
  View<const T, 2> s;
  View<T, 2> c;
  Scales scales;
  bool mirrored;  // only columns from the diagonal on, written twice
};

struct Rectangle {  // of C: rows [i0, i1), columns [j0, j0 + jn) of one panel
  int64_t i0, i1, j0, jn;
};

// Sums of a rectangle, [row][64], six rows at a time. copy(k0, kn, panel) fills the panel of the right operand.
template <class T, class Copy>
void sum_rows(const Product<T>& p, const Rectangle& r, uint32_t* panel, float* sums, Copy&& copy) {
  const TileKernels& t = tile_kernels();
  for (int64_t k0 = 0; k0 < p.k_words; k0 += kBlockWords) {
    const int64_t kn = std::min(kBlockWords, p.k_words - k0);
    copy(k0, kn, panel);
    for (int64_t i = r.i0; i < r.i1; i += kTileRows) {
      const Tile tile{.a = p.a.data + i * p.a.row + k0,
                      .a_row = p.a.row,
                      .b = panel,
                      .b_k = kTileColumns,
                      .c = sums + (i - r.i0) * kTileColumns,
                      .c_row = kTileColumns,
                      .k = kn,
                      .rows = static_cast<int>(std::min<int64_t>(kTileRows, r.i1 - i)),
                      .groups = static_cast<int>((r.jn + 15) / 16),
                      .add = k0 > 0};
      std::is_same_v<T, float> ? t.f32(tile) : t.bf16(tile);
    }
  }
}

// The same of bf16 by matrix tiles: rows of A are read where they lie, but for the last ones and the end of K.
template <class T, class Copy>
void sum_by_tiles(const Product<T>& p, const Rectangle& r, uint32_t* panel, float* sums, Copy&& copy) {
  const AmxKernels& amx = amx_kernels();
  Arena& arena = thread_arena();
  Arena::Scope scope(arena);
  constexpr int64_t kStepWords = 16, kPair = 2 * kAmxRows, kStripBytes = 4 * kAmxTile;
  const int64_t pairs = (r.i1 - r.i0 + kPair - 1) / kPair;
  uint8_t* tiles = arena.take<uint8_t>(2 * pairs * kStripBytes).data();
  uint32_t* edge = arena.take<uint32_t>(kPair * kBlockWords).data();
  const AmxScope configured(amx);
  for (int64_t k0 = 0; k0 < p.k_words; k0 += kBlockWords) {
    const int64_t kn = std::min(kBlockWords, p.k_words - k0), steps = (kn + kStepWords - 1) / kStepWords;
    copy(k0, kn, panel);
    std::fill_n(panel + kn * kTileColumns, (steps * kStepWords - kn) * kTileColumns, 0u);
    for (int64_t i = 0; i < pairs; ++i) {
      const int64_t row = r.i0 + i * kPair, n = std::min(kPair, r.i1 - row);
      const uint32_t* a = p.a.data + row * p.a.row + k0;
      const bool whole = n == kPair && kn == steps * kStepWords;
      for (int64_t e = 0; !whole && e < kPair; ++e) {
        uint32_t* to = edge + e * kBlockWords;
        std::fill_n(std::copy_n(a + (e < n ? e : 0) * p.a.row, e < n ? kn : 0, to),
                    steps * kStepWords - (e < n ? kn : 0), 0u);
      }
      const int64_t a_row = 4 * (whole ? p.a.row : kBlockWords);
      for (int64_t half = 0; half < (r.jn > 32 ? 2 : 1); ++half)
        amx.bf16.two_by_two({.a = reinterpret_cast<const uint8_t*>(whole ? a : edge),
                             .a_strip = kAmxRows * a_row,
                             .a_step = kAmxStepBytes,
                             .a_row = a_row,
                             .b = reinterpret_cast<const uint8_t*>(panel) + half * 128,
                             .b_tile = 64,
                             .b_step = kStepWords * kTileColumns * 4,
                             .b_row = kTileColumns * 4,
                             .c = tiles + 2 * i * kStripBytes + half * 2 * kAmxTile,
                             .c_strip = kStripBytes,
                             .steps = steps,
                             .add = k0 > 0});
    }
  }
  for (int64_t i = 0; i < r.i1 - r.i0; i += kAmxRows)
    tile_kernels().from_tiles({.sums = reinterpret_cast<const float*>(tiles + i / kAmxRows * kStripBytes),
                               .rows = std::min(kAmxRows, r.i1 - r.i0 - i),
                               .columns = r.jn,
                               .y = sums + i * kTileColumns,
                               .y_row = kTileColumns});
}

template <class T, class Copy>
void item(const Product<T>& p, const Rectangle& r, Copy&& copy) {
  const TileKernels& t = tile_kernels();
  Arena& arena = thread_arena();
  Arena::Scope scope(arena);
  uint32_t* panel = arena.take<uint32_t>(kBlockWords * kTileColumns).data();
  float* sums = arena.take<float>(kItemRows * kTileColumns).data();
  float* turned = arena.take<float>(kItemRows * kTileColumns).data();
  if (r.jn < kTileColumns) std::memset(panel, 0, kBlockWords * kTileColumns * sizeof(uint32_t));
  if (std::is_same_v<T, bf16> && matrix_tiles())
    sum_by_tiles(p, r, panel, sums, copy);
  else
    sum_rows(p, r, panel, sums, copy);
  const float alpha = static_cast<float>(p.scales.alpha), beta = static_cast<float>(p.scales.beta);
  for (int64_t i = r.i0; i < r.i1; ++i) {
    float* row = sums + (i - r.i0) * kTileColumns;
    scale(row, r.jn, beta == 0 ? nullptr : p.s.row(i) + r.j0, alpha, beta, row);
    put(t, row, r.jn, p.c.row(i) + r.j0);
  }
  const int64_t above = std::min(r.i1, r.j0) - r.i0;  // rows whose mirror image this panel does not hold itself
  if (!p.mirrored || above <= 0) return;
  t.transpose(reinterpret_cast<const uint32_t*>(sums), kTileColumns, above, r.jn, reinterpret_cast<uint32_t*>(turned),
              kItemRows);
  for (int64_t j = 0; j < r.jn; ++j) put(t, turned + j * kItemRows, above, p.c.row(r.j0 + j) + r.i0);
}

// All items, the tallest panels first. copy(k0, kn, j0, jn, panel).
template <class T, class Copy>
void run(const Product<T>& p, Copy&& copy) {
  const int64_t m = p.c.shape[0], n = p.c.shape[1], panels = (n + kTileColumns - 1) / kTileColumns;
  auto height = [&](int64_t panel) { return p.mirrored ? std::min(m, (panel + 1) * kTileColumns) : m; };
  auto blocks = [&](int64_t panel) { return (height(panel) + kItemRows - 1) / kItemRows; };
  int64_t items = 0;
  for (int64_t panel = 0; panel < panels; ++panel) items += blocks(panel);
  parallel_dynamic(items, [&](int64_t at) {
    int64_t panel = panels - 1;
    for (; at >= blocks(panel); --panel) at -= blocks(panel);
    const int64_t j0 = panel * kTileColumns, jn = std::min<int64_t>(kTileColumns, n - j0), i0 = at * kItemRows;
    item(p, {i0, std::min(height(panel), i0 + kItemRows), j0, jn},
         [&](int64_t k0, int64_t kn, uint32_t* out) { copy(k0, kn, j0, jn, out); });
  });
}

template <class T>
int64_t word_count(int64_t k) {
  constexpr int64_t kEach = static_cast<int64_t>(sizeof(uint32_t) / sizeof(T));
  QUERN_CHECK(k % kEach == 0, "bf16 products sum over pairs, K = {}", k);
  return k / kEach;
}

}  // namespace

template <class T>
void symmetric_product(View<const T, 2> x, View<const T, 2> s, View<T, 2> c, Scales o) {
  QUERN_CHECK(c.shape[0] == x.shape[0] && c.shape[1] == x.shape[0] && (o.beta == 0 || s.shape == c.shape),
              "x [{}, {}], c [{}, {}]", x.shape[0], x.shape[1], c.shape[0], c.shape[1]);
  const double m = static_cast<double>(x.shape[0]), k = static_cast<double>(x.shape[1]);
  trace::Span span;
  if (trace::recording())
    span.begin(trace::Kind::product, fmt::format("{0} x {0} x {1} bf16, symmetric", x.shape[0], x.shape[1]));
  span.count(m * (m + 1) * k, 2 * (m * k + m * m));
  if (active_isa() == Isa::ref) return symmetric_product_ref<T>(x, s, c, o);
  const Words a = words(x);
  const TileKernels& t = tile_kernels();
  run(Product<T>{a, word_count<T>(x.shape[1]), s, c, o, true},
      [&](int64_t k0, int64_t kn, int64_t j0, int64_t jn, uint32_t* panel) {
        transposed_panel(t, a, k0, kn, j0, jn, panel);
      });
}

void gemm_bf16(View<const bf16, 2> a, View<const bf16, 2> b, View<const bf16, 2> s, View<bf16, 2> c, Scales o) {
  QUERN_CHECK(c.shape[0] == a.shape[0] && c.shape[1] == b.shape[1] && a.shape[1] == b.shape[0] &&
                  (o.beta == 0 || s.shape == c.shape),
              "a [{}, {}], b [{}, {}], c [{}, {}]", a.shape[0], a.shape[1], b.shape[0], b.shape[1], c.shape[0],
              c.shape[1]);
  trace::Span span;
  if (trace::recording())
    span.begin(trace::Kind::product, fmt::format("{} x {} x {} bf16", a.shape[0], b.shape[1], a.shape[1]));
  span.count(2 * static_cast<double>(c.size() * a.shape[1]),
             2 * static_cast<double>(a.size() + b.size() + 2 * c.size()));
  if (active_isa() == Isa::ref) return gemm_bf16_ref(a, b, s, c, o);
  run(Product<bf16>{words(a), word_count<bf16>(a.shape[1]), s, c, o, false},
      [&](int64_t k0, int64_t kn, int64_t j0, int64_t jn, uint32_t* panel) {
        interleaved_panel(b, k0, kn, j0, jn, panel);
      });
}

template void symmetric_product<float>(View<const float, 2>, View<const float, 2>, View<float, 2>, Scales);
template void symmetric_product<bf16>(View<const bf16, 2>, View<const bf16, 2>, View<bf16, 2>, Scales);

}  // namespace quern::kernels
