// Distribution of row blocks over threads. x is rounded row by row and then stored as [k][16 rows], so that one cache
// line holds what one step of a kernel multiplies by. A panel is processed in spans of 256 values of k (16 KiB of q8):
// a span is passed by every row block of an item while the next one is prefetched, at an even pace, by the first. Few
// rows: every thread streams through whole panels, one matrix after the other. Many: items of 12 row blocks and 4
// panels, so that x and y of an item stay in the second-level cache.
#include "quern/kernels/quant/quant_row_blocks.h"

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/cpu/products.h"
#include "quern/kernels/gemm/tile.h"
#include "quern/kernels/quant/quant_fixed.h"

namespace quern::kernels {
namespace {

constexpr int64_t kPanel = QuantLayout::kPanel, kRows = QuantRowBlock::kRows;
constexpr int64_t kSpan = 256, kBandRowBlocks = 12, kItemPanels = 4;
constexpr int64_t kPiece = 64;      // elements of a row that are laid out at a time; a whole number of groups
constexpr float kQ8Sum = 0x1p-24f;  // see quant_kernels.h

struct RowBlock {
  int64_t begin = 0;        // row of x and y
  int rows = 0, lanes = 0;  // there, and multiplied: few rows that are not fixed come with some that are not meant
  uint32_t* x = nullptr;
  float* sums = nullptr;
  bool fixed = false;  // x as quant_fixed.h wants it
  float* fixed_scales = nullptr;
  int32_t* fixed_sums = nullptr;
};

struct Band {  // strips that pass a panel together
  const uint8_t* blob = nullptr;
  const RowBlock* row_blocks = nullptr;
  int64_t n = 0;
};

int64_t row_blocks_of(const QuantGroup& g) { return (g.end - g.begin + kRows - 1) / kRows; }
int64_t bands_of(const QuantGroup& g) { return (row_blocks_of(g) + kBandRowBlocks - 1) / kBandRowBlocks; }

class Apply {
 public:
  Apply(const QuantKernels& k, const QuantLayout& l, bool int8_rows, View<const float, 1> bias, View<float, 2> y)
      : k_(k), l_(l), int8_(int8_rows), bias_(bias), y_(y), steps_(l.k_pad() / (int8_rows ? 4 : 2)) {}

  void run(std::span<const QuantGroup> groups, View<const float, 2> x, Arena& scratch) {
    Arena::Scope scope(scratch);
    cut(groups, scratch);
    stage(x, scratch);
    if (bands_.size() == groups.size()) {
      parallel_guided(n_bands() * l_.panels, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) multiply(bands_[static_cast<size_t>(i / l_.panels)], i % l_.panels);
      });
      return;
    }
    const int64_t across = (l_.panels + kItemPanels - 1) / kItemPanels;
    parallel_dynamic(n_bands() * across, [&](int64_t item) {
      const int64_t first = item / n_bands() * kItemPanels;
      for (int64_t p = first; p < std::min(l_.panels, first + kItemPanels); ++p)
        multiply(bands_[static_cast<size_t>(item % n_bands())], p);
    });
  }

 private:
  int64_t n_bands() const { return static_cast<int64_t>(bands_.size()); }

  void cut(std::span<const QuantGroup> groups, Arena& scratch) {
    int64_t n_row_blocks = 0, n_bands = 0;
    for (const QuantGroup& g : groups) n_row_blocks += row_blocks_of(g), n_bands += bands_of(g);
    row_blocks_ = scratch.take<RowBlock>(n_row_blocks);
    bands_ = scratch.take<Band>(n_bands);
    size_t s = 0, b = 0;
    for (const QuantGroup& g : groups) {
      const int64_t rows = g.end - g.begin, row_blocks = row_blocks_of(g), bands = bands_of(g);
      for (int64_t i = 0; i < bands; ++i) {
        const int64_t from = row_blocks * i / bands, to = row_blocks * (i + 1) / bands;
        bands_[b++] = {g.blob, row_blocks_.data() + s + from, to - from};
      }
      for (int64_t i = 0; i < row_blocks; ++i) {
        const int64_t from = g.begin + rows * i / row_blocks, to = g.begin + rows * (i + 1) / row_blocks;
        const bool few = !int8_ && to - from <= kFixedRows,
                   fixed = few && k_.to_fixed && to - from <= fixed_rows() && !exact_rows();
        row_blocks_[s++] = {.begin = from,
                            .rows = static_cast<int>(to - from),
                            .lanes = few && !fixed ? kFixedRows + 1 : static_cast<int>(to - from),
                            .fixed = fixed};
      }
    }
  }

  // Fixed point multiplies every weight twice, by an upper and a lower byte. What it saves is unpacking, which 8 bits
  // hardly need: there, bf16 is faster from three rows on (quern bench products).
  int64_t fixed_rows() const { return l_.four || !k_.q8_row_block ? kFixedRows : 2; }

  // Rows rounded one by one, then turned into lines of one step of all rows.
  void stage(View<const float, 2> x, Arena& scratch) {
    const TileKernels& tile = tile_kernels();
    const int64_t rows = x.shape[0], whole = (steps_ + 15) / 16 * 16,
                  line = whole + 16;  // lest rows share cache sets
    uint32_t* plain = scratch.take<uint32_t>((rows + kRows) * line).data();
    if (int8_) scale_ = scratch.take<float>(rows).data();
    parallel_for(rows, 32768 / (l_.k + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        if (int8_)
          scale_[t] = k_.to_int8(x.row(t), l_.k, l_.k_pad(), reinterpret_cast<uint8_t*>(plain + t * line)) / 127;
        else
          tile.to_bf16(x.row(t), l_.k, 2 * whole, reinterpret_cast<uint16_t*>(plain + t * line));
    });
    for (RowBlock& s : row_blocks_) {
      if (s.fixed) {
        s.x = scratch.take<uint32_t>(whole * s.rows).data();
        s.fixed_scales = scratch.take<float>(fixed_blocks() * s.rows).data();
        s.fixed_sums = scratch.take<int32_t>(fixed_blocks() * s.rows).data();
        continue;
      }
      s.x = s.lanes == 1 ? plain + s.begin * line
                         : scratch.take<uint32_t>(steps_ * QuantRowBlock::x_line(s.lanes)).data();
      if (l_.asymmetric) s.sums = scratch.take<float>(l_.blocks * kRows).data();
    }
    const int64_t pieces = (steps_ + kPiece - 1) / kPiece, n = static_cast<int64_t>(row_blocks_.size()) * pieces;
    parallel_for(n, 32, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const RowBlock& s = row_blocks_[static_cast<size_t>(i / pieces)];
        const int64_t at = i % pieces * kPiece, steps = std::min(kPiece, steps_ - at),
                      to = QuantRowBlock::x_line(s.lanes);
        const uint32_t* from = plain + s.begin * line + at;
        if (s.fixed) {
          fix(s, from, line, at, std::min(kPiece, whole - at));
          continue;
        }
        // Lines of 16 are turned whole: what lies in the rows behind the strip comes along unused.
        if (s.lanes > 1) tile.transpose(from, line, to, steps, s.x + at * to, to);
        if (l_.asymmetric) sum_groups(s, from, line, 2 * at / l_.block_k, 2 * steps / l_.block_k);
      }
    });
  }

  int64_t fixed_block() const { return l_.four ? l_.block_k : kFixedQ8Block; }
  int64_t fixed_blocks() const { return (l_.k_pad() + fixed_block() - 1) / fixed_block(); }

  // A piece of a strip's rows (`steps` elements from `at` on) as fixed point.
  void fix(const RowBlock& s, const uint32_t* from, int64_t line, int64_t at, int64_t steps) const {
    alignas(64) uint32_t row[kPiece];
    const int64_t first = 2 * at / fixed_block() * s.rows;
    for (int r = 0; r < s.rows; ++r) {
      uint32_t* to = s.rows == 1 ? s.x + at : row;
      k_.to_fixed({.x = reinterpret_cast<const uint16_t*>(from + r * line),
                   .n = 2 * steps,
                   .block = fixed_block(),
                   .four = l_.four,
                   .to = to,
                   .scales = s.fixed_scales + first + r,
                   .sums = s.fixed_sums + first + r,
                   .stride = s.rows});
      if (s.rows > 1)
        for (int64_t i = 0; i < steps; ++i) s.x[(at + i) * s.rows + r] = row[i];
    }
  }

  void sum_groups(const RowBlock& s, const uint32_t* from, int64_t line, int64_t first, int64_t n) const {
    for (int i = 0; i < s.rows; ++i)
      for (int64_t g = 0; g < n; ++g) {
        const uint32_t* pairs = from + i * line + g * l_.block_k / 2;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t p = 0; p < l_.block_k / 2; ++p)
          sum += std::bit_cast<float>(pairs[p] << 16) + std::bit_cast<float>(pairs[p] & 0xffff0000u);
        s.sums[(first + g) * kRows + i] = sum;
      }
  }

  auto kernel(const RowBlock& s) const {
    if (s.fixed) return l_.four ? k_.q4_fixed : k_.q8_fixed;
    return int8_ ? k_.q8a8_row_block : l_.four ? k_.q4_row_block : k_.q8_row_block;
  }

  void multiply(const Band& band, int64_t p) const {
    union Sums {
      float f[kRows * kPanel];
      int32_t i[kRows * kPanel];
    };
    alignas(64) Sums sums[kBandRowBlocks];
    const uint8_t* panel = band.blob + p * l_.panel_bytes();
    const int32_t* column = reinterpret_cast<const int32_t*>(band.blob + l_.sums_at()) + p * kPanel;
    for (int64_t s = 0; s < band.n; ++s)
      for (int r = 0; r < band.row_blocks[s].lanes; ++r)
        for (int64_t c = 0; c < kPanel; ++c)
          if (int8_)
            sums[s].i[r * kPanel + c] = -128 * column[c];
          else
            sums[s].f[r * kPanel + c] = 0;
    // Four rows and fewer pass a panel once, from end to end.
    const bool once = band.n == 1 && band.row_blocks[0].lanes <= kFixedRows;
    const int64_t per = once ? std::max<int64_t>(l_.blocks, 1) : kSpan / l_.block_k;
    for (int64_t b = 0; b < l_.blocks; b += per) {
      const uint8_t* from = panel + b * l_.block_bytes;
      const int64_t n = std::min(per, l_.blocks - b), k = b * l_.block_k / (int8_ ? 4 : 2);
      for (int64_t s = 0; s < band.n; ++s) {
        const RowBlock& row_block = band.row_blocks[s];
        const QuantRowBlock q{.from = from,
                              .blocks = n,
                              .group = l_.block_k,
                              .asymmetric = l_.asymmetric,
                              .x = row_block.x + k * QuantRowBlock::x_line(row_block.lanes),
                              .x_sums = l_.asymmetric ? row_block.sums + b * kRows : nullptr,
                              .y = sums[s].f,
                              .sums = sums[s].i,
                              .fixed_scales = row_block.fixed_scales,
                              .fixed_sums = row_block.fixed_sums,
                              .next = s == 0 ? from + n * l_.block_bytes : from,
                              .rows = row_block.lanes};
        kernel(row_block)(q);
      }
    }
    for (int64_t s = 0; s < band.n; ++s)
      for (int r = 0; r < band.row_blocks[s].rows; ++r) {
        const int64_t t = band.row_blocks[s].begin + r;
        if (int8_)
          finish(band, p, t, scale_[t], sums[s].i + r * kPanel);
        else
          finish(band, p, t, l_.four || band.row_blocks[s].fixed ? 1 : kQ8Sum, sums[s].f + r * kPanel);
      }
  }

  // y = S·unit·sum + b on a panel's columns.
  template <class T>
  void finish(const Band& band, int64_t p, int64_t t, float unit, const T* sums) const {
    const float* s = reinterpret_cast<const float*>(band.blob + l_.scales_at()) + p * kPanel;
    const int64_t n = std::min(kPanel, l_.n - p * kPanel);
    float* y = &y_(t, p * kPanel);
    if (bias_) {
      const float* b = bias_.data + p * kPanel;
      for (int64_t c = 0; c < n; ++c) y[c] = static_cast<float>(sums[c]) * (s[c] * unit) + b[c];
    } else {
      for (int64_t c = 0; c < n; ++c) y[c] = static_cast<float>(sums[c]) * (s[c] * unit);
    }
  }

  const QuantKernels& k_;
  const QuantLayout& l_;
  const bool int8_;
  View<const float, 1> bias_;
  View<float, 2> y_;
  const int64_t steps_;  // elements of a row: pairs, or four bytes
  std::span<RowBlock> row_blocks_;
  std::span<Band> bands_;
  float* scale_ = nullptr;
};

}  // namespace

void quant_apply_row_blocks(const QuantKernels& kernels, const QuantRowBlocks& a, Arena& scratch) {
  QUERN_CHECK(kernels.q8a8_row_block != nullptr);
  Apply(kernels, a.layout, a.int8_rows, a.bias, a.y).run(a.groups, a.x, scratch);
}

}  // namespace quern::kernels
