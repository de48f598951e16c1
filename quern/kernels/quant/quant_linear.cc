// Quantized matrix multiplication: dispatch, distribution of rows and panels over threads, and the column scales.
// Matrix tiles take any number of rows (quant_tiles.h). Where the CPU has byte products, and bf16 products that are worth
// it, row blocks (quant_row_blocks.h) take up to kRowBlockRows rows, and any number of int8 rows; with byte products
// alone, up to four rows and int8 rows. Elsewhere a few rows of floats are multiplied by a panel directly. More are multiplied by the
// tiles of gemm/tile.h: a block of a panel is dequantized into a thread's own 32 or 64 KiB and serves up to 192 rows, so
// that dequantization is 2 % of the work. The block is in bf16 pairs, or in floats where bf16 products are by f32 FMAs,
// which widen nothing then: the same bits.
#include "quern/kernels/quant/quant_linear.h"

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/cpu/products.h"
#include "quern/kernels/gemm/tile.h"
#include "quern/kernels/quant/quant_fixed.h"
#include "quern/kernels/quant/quant_kernels.h"
#include "quern/kernels/quant/quant_ref.h"
#include "quern/kernels/quant/quant_row_blocks.h"
#include "quern/kernels/quant/quant_tiles.h"

namespace quern::kernels {
namespace {

constexpr int64_t kPanel = QuantLayout::kPanel;
constexpr int64_t kItemRows = 192, kItemPanels = 4;  // as packed_linear.cc: items enough to balance, x and y in cache
constexpr int64_t kFewRows = 24;                     // one item each panel, every thread a contiguous stretch of W
constexpr int64_t kUnpackK = 256;                    // 64 × 256 bf16 = 32 KiB, floats twice that
constexpr float kQ8Sum = 0x1p-24f;                   // see quant_kernels.h
// Strips unpack for every 16 rows (beside products, for nothing), tiles for 192 (in between): Zen 4 breaks even here.
constexpr int64_t kRowBlockRows = 256;

struct Staged {  // x as the kernels read it
  const char* data = nullptr;
  int64_t row = 0;  // in 32-bit elements
  const float* sums = nullptr;
  int64_t sums_row = 0;
};

class Apply {
 public:
  Apply(const QuantLayout& l, const uint8_t* blob, View<const float, 1> bias, View<float, 2> y)
      : l_(l),
        blob_(blob),
        bias_(bias),
        y_(y),
        k_(quant_kernels()),
        each_(bf16_products() == Bf16Products::fma ? 1 : 2) {}

  void run(View<const float, 2> x, Arena& scratch) {
    Arena::Scope scope(scratch);
    const int64_t rows = x.shape[0];
    if (rows <= (l_.four ? k_.q4_rows : k_.q8_rows) && !exact_rows()) {
      x_ = stage_floats(x, scratch);
      if (l_.four) sum_groups(x, scratch);
      parallel_guided(l_.panels, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) direct(p, static_cast<int>(rows));
      });
      return;
    }
    x_ = each_ == 1 ? stage_floats(x, scratch) : stage_pairs(x, scratch);
    const int64_t maximum = std::min(rows, kItemRows);
    sums_row_ = (maximum + kTileRows) * kPanel;
    weights_ = scratch.take<uint32_t>(thread_count() * kPanel * kUnpackK / each_).data();
    sums_ = scratch.take<float>(thread_count() * sums_row_).data();
    if (rows <= kFewRows) {
      parallel_for(l_.panels, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) tiles(0, rows, p);
      });
      return;
    }
    int64_t blocks = (rows + kItemRows - 1) / kItemRows, across = (l_.panels + kItemPanels - 1) / kItemPanels;
    parallel_dynamic(blocks * across, [&](int64_t item) {
      int64_t i = item % blocks, p = item / blocks * kItemPanels;
      for (int64_t end = std::min(l_.panels, p + kItemPanels); p < end; ++p)
        tiles(rows * i / blocks, rows * (i + 1) / blocks, p);
    });
  }

 private:
  // Rows get 64 spare bytes so that those of a power-of-two K do not all fall into the same cache sets.
  int64_t x_line() const { return (l_.k_pad() + 63) / 32 * 32 + 32; }

  Staged stage_floats(View<const float, 2> x, Arena& scratch) const {
    const int64_t line = x_line();
    float* to = scratch.take<float>(x.shape[0] * line).data();
    parallel_for(x.shape[0], 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) tile_kernels().rounded(x.row(i), l_.k, line, to + i * line);
    });
    return {reinterpret_cast<const char*>(to), line};
  }

  Staged stage_pairs(View<const float, 2> x, Arena& scratch) const {
    const int64_t line = x_line();
    uint16_t* to = scratch.take<uint16_t>(x.shape[0] * line).data();
    parallel_for(x.shape[0], 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) tile_kernels().to_bf16(x.row(i), l_.k, line, to + i * line);
    });
    return {reinterpret_cast<const char*>(to), line / 2};
  }

  void sum_groups(View<const float, 2> x, Arena& scratch) {
    float* sums = scratch.take<float>(x.shape[0] * l_.blocks).data();
    for (int64_t i = 0; i < x.shape[0]; ++i)
      for (int64_t g = 0; g < l_.blocks; ++g) {
        float s = 0;
        for (int64_t p = g * l_.block_k; p < std::min(l_.k, (g + 1) * l_.block_k); ++p)
          s += static_cast<float>(bf16(x(i, p)));
        sums[i * l_.blocks + g] = s;
      }
    x_.sums = sums, x_.sums_row = l_.blocks;
  }

  const uint8_t* panel(int64_t p) const { return blob_ + p * l_.panel_bytes(); }

  void direct(int64_t p, int rows) const {
    alignas(64) float sums[4 * kPanel];
    QuantRows r{.panel = panel(p),
                .blocks = l_.blocks,
                .group = l_.block_k,
                .asymmetric = l_.asymmetric,
                .x = reinterpret_cast<const float*>(x_.data),
                .x_row = x_.row,
                .x_sums = x_.sums,
                .sums_row = x_.sums_row,
                .y = sums,
                .rows = rows};
    (l_.four ? k_.q4 : k_.q8)(r);
    finish(p, 0, rows, sums);
  }

  void tiles(int64_t i0, int64_t i1, int64_t p) const {
    uint32_t* weights = weights_ + thread_index() * kPanel * kUnpackK / each_;
    float* sums = sums_ + thread_index() * sums_row_;
    const int64_t per = kUnpackK / l_.block_k, n_tiles = (i1 - i0 + kTileRows - 1) / kTileRows;
    if (l_.blocks == 0) std::fill_n(sums, (i1 - i0) * kPanel, 0.0f);
    for (int64_t b = 0; b < l_.blocks; b += per) {
      const int64_t n = std::min(per, l_.blocks - b), steps = n * l_.block_k / each_;
      const uint8_t* from = panel(p) + b * l_.block_bytes;
      unpack(from, n, weights);
      for (int g = 0; g < 4; g += groups_)
        for (int64_t r = 0; r < n_tiles; ++r) {
          const int64_t begin = (i1 - i0) * r / n_tiles, end = (i1 - i0) * (r + 1) / n_tiles;
          const Tile t{.a = x_.data + ((i0 + begin) * x_.row + b * l_.block_k / each_) * 4,
                       .a_row = x_.row,
                       .b = weights + g * 16 * steps,
                       .b_k = 16 * groups_,
                       .c = sums + begin * kPanel + 16 * g,
                       .c_row = kPanel,
                       .k = steps,
                       .rows = static_cast<int>(end - begin),
                       .groups = groups_,
                       .add = b > 0};
          each_ == 1 ? tile_kernels().f32(t) : tile_kernels().bf16(t);
        }
    }
    finish(p, i0, i1, sums);
  }

  // Blocks without the column's scale, as the tiles multiply them.
  void unpack(const uint8_t* from, int64_t blocks, uint32_t* to) const {
    if (each_ == 1)
      k_.to_floats({.from = from,
                    .blocks = blocks,
                    .group = l_.block_k,
                    .four = l_.four,
                    .asymmetric = l_.asymmetric,
                    .to = reinterpret_cast<float*>(to),
                    .to_k = 16 * groups_,
                    .to_group = groups_ == 4 ? 16 : 16 * blocks * l_.block_k});
    else if (l_.four)
      k_.unpack_q4(from, blocks, l_.block_k, l_.asymmetric, to);
    else
      k_.unpack_q8(from, blocks, to);
  }

  // y = S·sum + b on a panel's columns.
  void finish(int64_t p, int64_t i0, int64_t i1, const float* sums) const {
    const float* s = reinterpret_cast<const float*>(blob_ + l_.scales_at()) + p * kPanel;
    const int64_t n = std::min(kPanel, l_.n - p * kPanel);
    const float unit = l_.four ? 1 : kQ8Sum;
    for (int64_t i = i0; i < i1; ++i, sums += kPanel) {
      float* y = &y_(i, p * kPanel);
      if (bias_) {
        const float* b = bias_.data + p * kPanel;
        for (int64_t c = 0; c < n; ++c) y[c] = sums[c] * (s[c] * unit) + b[c];
      } else {
        for (int64_t c = 0; c < n; ++c) y[c] = sums[c] * (s[c] * unit);
      }
    }
  }

  const QuantLayout& l_;
  const uint8_t* blob_;
  View<const float, 1> bias_;
  View<float, 2> y_;
  const QuantKernels& k_;
  const int64_t each_;  // values of K in an element of x and W: 1 float or 2 in a pair
  const int groups_ = each_ == 1 ? tile_kernels().step_groups : 4;  // of 16 columns that lie together: 1 or 4
  Staged x_;
  uint32_t* weights_ = nullptr;
  float* sums_ = nullptr;
  int64_t sums_row_ = 0;
};

// Rows as int8 with one scale each, times the same bytes of W, in exact integer sums.
void apply_int8(const QuantLayout& l, const uint8_t* blob, View<const float, 2> x, View<const float, 1> bias,
                View<float, 2> y, Arena& scratch) {
  Arena::Scope scope(scratch);
  const QuantKernels& k = quant_kernels();
  const int64_t rows = x.shape[0], line = l.k_pad() + 64;
  uint8_t* q = scratch.take<uint8_t>(rows * line).data();
  float* scale = scratch.take<float>(rows).data();
  parallel_for(rows, 8, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) scale[t] = k.to_int8(x.row(t), l.k, line, q + t * line) / 127;
  });
  const float* s = reinterpret_cast<const float*>(blob + l.scales_at());
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  parallel_for(l.panels, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      const int64_t column = p * kPanel, n = std::min(kPanel, l.n - column);
      for (int64_t r = 0; r < tiles; ++r) {
        const int64_t begin = rows * r / tiles, end = rows * (r + 1) / tiles;
        alignas(64) int32_t sums[kTileRows * kPanel];
        k.q8a8({.panel = blob + p * l.panel_bytes(),
                .blocks = l.blocks,
                .x = q + begin * line,
                .x_row = line,
                .sums = sums,
                .rows = static_cast<int>(end - begin)});
        for (int64_t t = begin; t < end; ++t)
          for (int64_t c = 0; c < n; ++c)
            y(t, column + c) = static_cast<float>(sums[(t - begin) * kPanel + c]) * (scale[t] * s[column + c]) +
                               (bias ? bias(column + c) : 0);
      }
    }
  });
}

// Whether strips take this many rows of a matrix.
bool in_row_block_pass(const QuantKernels& k, const QuantFormat& s, int64_t rows) {
  if (s.format == WeightFormat::q8a8) return k.q8a8_row_block != nullptr;
  if (exact_rows()) return k.q8_row_block != nullptr;
  return k.q8_row_block ? rows <= kRowBlockRows : k.to_fixed && rows <= kFixedRows;
}

}  // namespace

const QuantKernels& quant_kernels() {
  if (active_isa() == Isa::avx2) return quant_avx2;
  if (bf16_products() == Bf16Products::vdpbf16) return quant_avx512bf16;
  return has_avx512_vnni() ? quant_avx512vnni : quant_avx512;
}

QuantLinear QuantLinear::view(const Tensor& blob, int64_t n, int64_t k, const QuantFormat& s, std::string_view what) {
  QUERN_CHECK(s.quantized());
  QuantLinear r;
  r.layout_ = QuantLayout(n, k, s);
  r.scheme_ = s;
  r.blob_ = blob;
  if (blob.dtype() != DType::u8 || blob.bytes() != r.layout_.bytes())
    fail("{}: {} [{}, {}] takes {} bytes of u8, found {} of {}", what, to_string(s), n, k, r.layout_.bytes(),
         blob.bytes(), dtype_name(blob.dtype()));
  if (reinterpret_cast<uintptr_t>(blob.raw()) % 64 != 0) fail("{}: quantized data is not aligned to 64 bytes", what);
  return r;
}

void QuantLinear::apply(View<const float, 2> x, View<const float, 1> bias, View<float, 2> y, Arena& scratch) const {
  QUERN_CHECK(x.shape[1] == k() && y.shape[1] == n() && x.shape[0] == y.shape[0],
              "x [{}, {}], W [{}, {}], y [{}, {}]", x.shape[0], x.shape[1], n(), k(), y.shape[0], y.shape[1]);
  QUERN_CHECK(!bias || bias.shape[0] == n(), "bias [{}], W [{}, {}]", bias.shape[0], n(), k());
  if (y.size() == 0) return;
  const uint8_t* blob = blob_.data<uint8_t>();
  const bool int8_rows = scheme_.format == WeightFormat::q8a8;
  if (active_isa() == Isa::ref) return quant_apply_ref(layout_, blob, int8_rows, x, bias, y);
  const QuantKernels& k = quant_kernels();
  const QuantGroup all{blob, 0, x.shape[0]};
  const QuantRowBlocks work{
      .layout = layout_, .int8_rows = int8_rows, .groups = {&all, 1}, .x = x, .bias = bias, .y = y};
  if (matrix_tiles()) return quant_apply_tiles(k, work, scratch);
  if (in_row_block_pass(k, scheme_, x.shape[0])) return quant_apply_row_blocks(k, work, scratch);
  if (int8_rows) return apply_int8(layout_, blob, x, bias, y, scratch);
  Apply(layout_, blob, bias, y).run(x, scratch);
}

bool QuantLinear::apply_together(std::span<const Group> groups, View<const float, 2> x, View<float, 2> y,
                                 Arena& scratch) {
  if (active_isa() == Isa::ref || groups.empty()) return false;
  const QuantLinear& first = *groups[0].w;
  const QuantKernels& k = quant_kernels();
  Arena::Scope scope(scratch);
  const std::span<QuantGroup> all = scratch.take<QuantGroup>(static_cast<int64_t>(groups.size()));
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto [w, begin, end] = groups[g];
    QUERN_CHECK(0 <= begin && begin <= end && end <= x.shape[0] && w->defined(), "rows {} … {} of {}", begin, end,
                x.shape[0]);
    if (w->n() != first.n() || w->k() != first.k() || !(w->scheme() == first.scheme()) ||
        (!matrix_tiles() && !in_row_block_pass(k, w->scheme(), end - begin)))
      return false;
    all[g] = {w->blob().data<uint8_t>(), begin, end};
  }
  QUERN_CHECK(x.shape[1] == first.k() && y.shape[1] == first.n() && x.shape[0] == y.shape[0],
              "x [{}, {}], W [{}, {}], y [{}, {}]", x.shape[0], x.shape[1], first.n(), first.k(), y.shape[0],
              y.shape[1]);
  (matrix_tiles() ? quant_apply_tiles : quant_apply_row_blocks)(
      k,
      {.layout = first.layout_,
       .int8_rows = first.scheme_.format == WeightFormat::q8a8,
       .groups = all,
       .x = x,
       .y = y},
      scratch);
  return true;
}

}  // namespace quern::kernels
