// C = op(A)·op(B) + beta·C in bf16 pairs. Both operands are repacked once per call: B in panels of 64 columns
// ([N/64][K/2][64], BA16a64b2a), A in blocks of 192 rows, row by row, or pair by pair if it was transposed; the tile
// kernel reads either. Where bf16 products are by f32 FMAs, both are repacked as floats instead, rounded all the same:
// nothing is widened in the inner loop, and the sums have the same bits. An item is a block of rows times four panels; K
// is blocked so that 64 KiB of B serve all rows of a block from cache. Each element of C is summed in one order, whatever
// the threads. Cost: 2MNK flops, and 6 bytes of traffic per element of A and B (8 as floats).
#include "quern/kernels/gemm/gemm_rounded.h"

#include <algorithm>

#include "quern/base/threads.h"
#include "quern/kernels/cpu/products.h"
#include "quern/kernels/gemm/amx_product.h"
#include "quern/kernels/gemm/tile.h"

namespace quern::kernels {
namespace {

constexpr int64_t kItemRows = 192;
constexpr int64_t kItemPanels = 4;
constexpr int64_t kBlockPairs = 256;
constexpr int64_t kSparePairs = 16;  // rows of a power of two would share cache sets

// A: pairs along K, or the same values as floats.
struct Staged {
  uint32_t* data = nullptr;
  int64_t row = 1, k = 1;  // strides, in pairs or floats
  int64_t block = 0;       // from one block of rows to the next; 0 = rows simply follow each other
  int64_t each = 1;        // floats or pairs to a pair
};

int64_t blocks_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

// Two rows of x [K, n] and the next … as [K/2][width] pairs; past the last row and column there are zeros.
void pair_rows(const TileKernels& t, View<const float, 2> x, int64_t k0, int64_t k1, int64_t column, int64_t n,
               int64_t width, uint32_t* to) {
  static const std::vector<float> zeros(kItemRows, 0.0f);
  for (int64_t k = k0; k < k1; k += 2, to += width) {
    t.pair(x.row(k) + column, k + 1 < x.shape[0] ? x.row(k + 1) + column : zeros.data(), n, to);
    std::fill(to + n, to + width, 0u);
  }
}

// Rows of A as they lie, rounded; or, from [K, M], blocks of kItemRows columns.
Staged stage_a(const TileKernels& t, View<const float, 2> a, bool trans, bool floats, Arena& scratch) {
  Staged p{.each = floats ? 2 : 1};
  int64_t m = a.shape[trans ? 1 : 0], k = a.shape[trans ? 0 : 1], pairs = (k + 1) / 2;
  if (!trans) {
    p.row = (p.each * pairs + 15) / 16 * 16 + kSparePairs;
    p.data = scratch.take<uint32_t>(m * p.row).data();
    parallel_for(m, 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        if (floats)
          t.rounded(a.row(i), k, 2 * pairs, reinterpret_cast<float*>(p.data + i * p.row));
        else
          t.to_bf16(a.row(i), k, 2 * pairs, reinterpret_cast<uint16_t*>(p.data + i * p.row));
    });
    return p;
  }
  int64_t blocks = blocks_of(m, kItemRows), steps = blocks_of(pairs, kBlockPairs);
  p.k = kItemRows, p.block = p.each * pairs * kItemRows;
  p.data = scratch.take<uint32_t>(blocks * p.block).data();
  parallel_dynamic(blocks * steps, [&](int64_t i) {
    int64_t block = i % blocks, k0 = i / blocks * kBlockPairs, column = block * kItemRows;
    const int64_t k1 = std::min(pairs, k0 + kBlockPairs), n = std::min(kItemRows, m - column);
    uint32_t* to = p.data + block * p.block + k0 * p.each * kItemRows;
    if (!floats) return pair_rows(t, a, 2 * k0, std::min(k, 2 * k1), column, n, kItemRows, to);
    for (int64_t row = 2 * k0; row < 2 * k1; ++row, to += kItemRows)
      t.rounded(row < k ? a.row(row) + column : nullptr, row < k ? n : 0, kItemRows, reinterpret_cast<float*>(to));
  });
  return p;
}

// op(B) in panels of 64 columns of floats, each in slices of as many columns as registers take at once:
// [N/64][64/width][2·pairs][width]; rows that K does not have are zero.
class FloatPanels {
 public:
  FloatPanels(const TileKernels& t, View<const float, 2> b, bool trans)
      : t_(t), b_(b), trans_(trans), n_(b.shape[trans ? 0 : 1]), k_(b.shape[trans ? 1 : 0]) {}

  uint32_t* stage(int64_t pairs, Arena& scratch) const {
    const int64_t panels = blocks_of(n_, kTileColumns), rows = 2 * pairs, steps = blocks_of(pairs, kBlockPairs);
    float* to = scratch.take<float>(panels * rows * kTileColumns).data();
    parallel_dynamic(panels * steps, [&](int64_t i) {
      const int64_t panel = i % panels, begin = i / panels * 2 * kBlockPairs,
                    end = std::min(rows, begin + 2 * kBlockPairs);
      for (int64_t c = 0; c < kTileColumns; c += width_) {
        const int64_t column = panel * kTileColumns + c;
        float* at = to + panel * rows * kTileColumns + c * rows + begin * width_;
        trans_ ? turned(column, begin, end, at) : plain(column, begin, end, at);
      }
    });
    return reinterpret_cast<uint32_t*>(to);
  }

 private:
  int64_t columns(int64_t column) const { return std::clamp<int64_t>(n_ - column, 0, width_); }

  void plain(int64_t column, int64_t begin, int64_t end, float* to) const {
    const int64_t there = columns(column);
    for (int64_t row = begin; row < end; ++row, to += width_)
      t_.rounded(row < k_ ? b_.row(row) + column : nullptr, row < k_ ? there : 0, width_, to);
  }

  void turned(int64_t column, int64_t begin, int64_t end, float* to) const {
    constexpr int64_t kPiece = 128, kRow = kPiece + kSparePairs;
    alignas(64) float rows[kTileColumns * kRow];
    const int64_t there = columns(column);
    if (there < width_) std::fill_n(to, (end - begin) * width_, 0.0f);
    for (int64_t from = begin; from < end; from += kPiece, to += kPiece * width_) {
      const int64_t n = std::min(kPiece, end - from);
      for (int64_t j = 0; j < there; ++j)
        t_.rounded(b_.row(column + j) + from, std::clamp<int64_t>(k_ - from, 0, n), n, rows + j * kRow);
      t_.transpose(reinterpret_cast<const uint32_t*>(rows), kRow, there, n, reinterpret_cast<uint32_t*>(to), width_);
    }
  }

  const TileKernels& t_;
  View<const float, 2> b_;
  bool trans_;
  int64_t n_, k_;
  const int64_t width_ = 16 * t_.step_groups;
};

// [N/64][pairs][64]; pairs may count more than K has, which are zero.
uint32_t* stage_b(const TileKernels& t, View<const float, 2> b, bool trans, int64_t pairs, Arena& scratch) {
  int64_t n = b.shape[trans ? 0 : 1], k = b.shape[trans ? 1 : 0];
  int64_t panels = blocks_of(n, kTileColumns), steps = blocks_of(pairs, kBlockPairs);
  uint32_t* to = scratch.take<uint32_t>(panels * pairs * kTileColumns).data();
  parallel_dynamic(panels * steps, [&](int64_t i) {
    int64_t panel = i % panels, k0 = i / panels * kBlockPairs, k1 = std::min(pairs, k0 + kBlockPairs);
    int64_t column = panel * kTileColumns, columns = std::min<int64_t>(kTileColumns, n - column);
    uint32_t* at = to + (panel * pairs + k0) * kTileColumns;
    if (!trans) {
      const int64_t there = std::min((k + 1) / 2, k1);
      pair_rows(t, b, 2 * k0, std::min(k, 2 * k1), column, columns, kTileColumns, at);
      return std::fill_n(at + (there - k0) * kTileColumns, (k1 - there) * kTileColumns, 0u), void();
    }
    alignas(64) uint32_t rows[kTileColumns * (kBlockPairs + kSparePairs)];
    constexpr int64_t kRow = kBlockPairs + kSparePairs;
    for (int64_t j = 0; j < columns; ++j)
      t.to_bf16(b.row(column + j) + 2 * k0, std::min(k, 2 * k1) - 2 * k0, 2 * (k1 - k0),
                reinterpret_cast<uint16_t*>(rows + j * kRow));
    t.transpose(rows, kRow, columns, k1 - k0, at, kTileColumns);
    for (int64_t r = 0; columns < kTileColumns && r < k1 - k0; ++r)
      std::fill(at + r * kTileColumns + columns, at + (r + 1) * kTileColumns, 0u);
  });
  return to;
}

void scale(View<float, 2> c, double beta) {
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) c(i, j) = beta == 0 ? 0 : static_cast<float>(beta) * c(i, j);
}

// By matrix tiles: the same staged panels of B, A as tiles.
class Panels : public AmxPanels {
 public:
  Panels(const uint32_t* b, int64_t pairs, View<float, 2> c, bool add)
      : b_(b), pairs_(pairs), c_(c), add_(add), from_tiles_(tile_kernels().from_tiles) {
    columns = c.shape[1], panels = blocks_of(columns, kTileColumns), steps = in_place = pairs / 16;
  }
  const uint8_t* panel(size_t, int64_t p) const override {
    return reinterpret_cast<const uint8_t*>(b_ + p * pairs_ * kTileColumns);
  }
  void unpack(size_t, int64_t, int64_t, int64_t, uint8_t*) const override {}  // all of it lies there
  void finish(size_t, int64_t row, int64_t rows, int64_t p, const void* sums) const override {
    from_tiles_({.sums = static_cast<const float*>(sums),
                 .rows = rows,
                 .columns = std::min<int64_t>(kTileColumns, columns - p * kTileColumns),
                 .add = add_,
                 .y = &c_(row, p * kTileColumns),
                 .y_row = c_.stride[0]});
  }

 private:
  const uint32_t* b_;
  int64_t pairs_;
  View<float, 2> c_;
  bool add_;
  void (*from_tiles_)(const FromTiles&);
};

void by_tiles(View<const float, 2> a, View<const float, 2> b, View<float, 2> c, GemmOptions o) {
  Arena& arena = thread_arena();
  Arena::Scope scope(arena);
  const int64_t steps = blocks_of(a.shape[o.trans_a ? 0 : 1], 32);
  const uint32_t* panels = stage_b(tile_kernels(), b, o.trans_b, 16 * steps, arena);
  const AmxRows all{.rows = c.shape[0]};
  const AmxRows rows = o.trans_a ? amx_stage_transposed(a, steps, arena) : amx_stage(a, steps, {&all, 1}, arena)[0];
  amx_product(amx_kernels().bf16, {&rows, 1}, Panels(panels, 16 * steps, c, o.beta != 0));
}

}  // namespace

void gemm_rounded(View<const float, 2> a, View<const float, 2> b, View<float, 2> c, GemmOptions o) {
  int64_t m = c.shape[0], n = c.shape[1], k = a.shape[o.trans_a ? 0 : 1], pairs = (k + 1) / 2;
  if (o.beta != 0 && o.beta != 1) scale(c, o.beta);
  if (k == 0) return o.beta == 0 ? scale(c, 0) : void();
  if (matrix_tiles()) return by_tiles(a, b, c, o);
  const TileKernels& kernels = tile_kernels();
  Arena& arena = thread_arena();
  Arena::Scope scope(arena);
  const bool floats = bf16_products() == Bf16Products::fma;
  const Staged pa = stage_a(kernels, a, o.trans_a, floats, arena);
  const uint32_t* pb =
      floats ? FloatPanels(kernels, b, o.trans_b).stage(pairs, arena) : stage_b(kernels, b, o.trans_b, pairs, arena);
  const int64_t each = pa.each, block_pairs = kBlockPairs / each;
  const int64_t width = floats ? 16 * kernels.step_groups : kTileColumns;  // of a slice of a panel
  int64_t panels = blocks_of(n, kTileColumns), blocks = blocks_of(m, kItemRows),
          across = blocks_of(panels, kItemPanels);
  parallel_dynamic(blocks * across, [&](int64_t item) {
    int64_t block = item % blocks, i0 = block * kItemRows, i1 = std::min(m, i0 + kItemRows);
    int64_t p0 = item / blocks * kItemPanels, p1 = std::min(panels, p0 + kItemPanels);
    int64_t tiles = blocks_of(i1 - i0, kTileRows);
    const uint32_t* rows = pa.block ? pa.data + block * pa.block : pa.data + i0 * pa.row;
    alignas(64) float edge[kTileRows * kTileColumns];
    const auto slice = [&](int64_t column, int64_t k0) {
      const int64_t columns = std::min<int64_t>(width, n - column);
      const bool whole = columns % 16 == 0;
      const uint32_t* w = pb + each * (column * pairs + k0 * width);
      for (int64_t r = 0; r < tiles; ++r) {  // spread evenly: every tile has chains enough
        int64_t from = (i1 - i0) * r / tiles, to = (i1 - i0) * (r + 1) / tiles;
        Tile t{.a = rows + from * pa.row + k0 * each * pa.k,
               .a_row = pa.row,
               .a_k = pa.k,
               .b = w,
               .b_k = width,
               .c = whole ? &c(i0 + from, column) : edge,
               .c_row = whole ? c.stride[0] : kTileColumns,
               .k = std::min(block_pairs, pairs - k0) * each,
               .rows = static_cast<int>(to - from),
               .groups = static_cast<int>((columns + 15) / 16),
               .add = k0 > 0 || o.beta != 0};
        for (int i = 0; !whole && t.add && i < t.rows; ++i)
          std::copy_n(&c(i0 + from + i, column), columns, edge + i * kTileColumns);
        floats ? kernels.f32(t) : kernels.bf16(t);
        for (int i = 0; !whole && i < t.rows; ++i)
          std::copy_n(edge + i * kTileColumns, columns, &c(i0 + from + i, column));
      }
    };
    for (int64_t p = p0; p < p1; ++p)
      for (int64_t k0 = 0; k0 < pairs; k0 += block_pairs)
        for (int64_t column = p * kTileColumns; column < std::min(n, (p + 1) * kTileColumns); column += width)
          slice(column, k0);
  });
}

}  // namespace quern::kernels
