#include "quern/kernels/quant/quant_tiles.h"

#include <cstring>

#include "quern/kernels/gemm/amx_product.h"
#include "quern/kernels/gemm/tile.h"

namespace quern::kernels {
namespace {

constexpr int64_t kPanel = QuantLayout::kPanel, kRow = 4 * kPanel;  // bytes of a row of tiles, side by side
constexpr int64_t kStep = 16 * kRow;
constexpr float kQ8Sum = 0x1p-24f;  // see quant_kernels.h

class Panels : public AmxPanels {
 public:
  explicit Panels(const QuantRowBlocks& a) : a_(a), l_(a.layout) { panels = l_.panels, columns = l_.n; }
  const uint8_t* panel(size_t group, int64_t p) const override {
    return a_.groups[group].blob + p * l_.panel_bytes();
  }

 protected:
  const float* scales(size_t group, int64_t p) const {
    return reinterpret_cast<const float*>(a_.groups[group].blob + l_.scales_at()) + p * kPanel;
  }
  const float* bias(int64_t p) const { return a_.bias ? a_.bias.data + p * kPanel : nullptr; }
  int64_t columns_of(int64_t p) const { return std::min(kPanel, l_.n - p * kPanel); }

  const QuantRowBlocks& a_;
  const QuantLayout& l_;
};

// Weights as pairs of bf16.
class Unpacked : public Panels {
 public:
  Unpacked(const QuantRowBlocks& a, const QuantKernels& k)
      : Panels(a), k_(k), from_tiles_(tile_kernels().from_tiles) {
    steps = (l_.k_pad() + 31) / 32;
  }
  void unpack(size_t group, int64_t p, int64_t first, int64_t n, uint8_t* to) const override {
    const int64_t block = 32 * first / l_.block_k,
                  blocks = std::min((32 * n + l_.block_k - 1) / l_.block_k, l_.blocks - block);
    const uint8_t* from = panel(group, p) + block * l_.block_bytes;
    if (l_.four)
      k_.unpack_q4(from, blocks, l_.block_k, l_.asymmetric, reinterpret_cast<uint32_t*>(to));
    else
      k_.unpack_q8(from, blocks, reinterpret_cast<uint32_t*>(to));
    const int64_t there = blocks * l_.block_k / 2 * kRow;
    std::memset(to + there, 0, static_cast<size_t>(n * kStep - there));
  }
  void finish(size_t group, int64_t row, int64_t rows, int64_t p, const void* sums) const override {
    from_tiles_({.sums = static_cast<const float*>(sums),
                 .rows = rows,
                 .columns = columns_of(p),
                 .scale = scales(group, p),
                 .bias = bias(p),
                 .unit = l_.four ? 1 : kQ8Sum,
                 .y = &a_.y(row, p * kPanel),
                 .y_row = a_.y.stride[0]});
  }

 private:
  const QuantKernels& k_;
  void (*from_tiles_)(const FromTiles&);
};

// Rows of x as bytes 128 too large, times the bytes as they lie.
class Bytes : public Panels {
 public:
  Bytes(const QuantRowBlocks& a, const float* row_scales) : Panels(a), row_scales_(row_scales) {
    steps = (l_.k_pad() + 63) / 64, in_place = l_.k_pad() / 64;
  }
  void unpack(size_t group, int64_t p, int64_t first, int64_t n, uint8_t* to) const override {
    const int64_t there = std::min(n * kStep, l_.panel_bytes() - first * kStep);
    std::memcpy(to, panel(group, p) + first * kStep, static_cast<size_t>(there));
    std::memset(to + there, 0, static_cast<size_t>(n * kStep - there));
  }
  void finish(size_t group, int64_t row, int64_t rows, int64_t p, const void* sums) const override {
    const auto* all = static_cast<const int32_t*>(sums);
    const auto* column = reinterpret_cast<const int32_t*>(a_.groups[group].blob + l_.sums_at()) + p * kPanel;
    const float *s = scales(group, p), *b = bias(p);
    for (int64_t r = 0; r < rows; ++r) {
      float* y = &a_.y(row + r, p * kPanel);
      const float unit = row_scales_[row + r];
      for (int64_t c = 0; c < columns_of(p); ++c)
        y[c] = static_cast<float>(all[c / 16 * 256 + 16 * r + c % 16] - 128 * column[c]) * (s[c] * unit) +
               (b ? b[c] : 0);
    }
  }

 private:
  const float* row_scales_;
};

}  // namespace

void quant_apply_tiles(const QuantKernels& kernels, const QuantRowBlocks& a, Arena& scratch) {
  Arena::Scope scope(scratch);
  const std::span<AmxRows> groups = scratch.take<AmxRows>(static_cast<int64_t>(a.groups.size()));
  for (size_t g = 0; g < groups.size(); ++g) groups[g] = {a.groups[g].begin, a.groups[g].end - a.groups[g].begin};
  if (!a.int8_rows) {
    const Unpacked w(a, kernels);
    return amx_product(amx_kernels().bf16, amx_stage(a.x, w.steps, groups, scratch), w);
  }
  const std::span<float> scales = scratch.take<float>(a.x.shape[0]);
  const Bytes w(a, scales.data());
  const auto rows = amx_stage(groups, w.steps, scratch, [&](int64_t i, uint8_t* to) {
    scales[static_cast<size_t>(i)] = kernels.to_int8(a.x.row(i), a.layout.k, 64 * w.steps, to) / 127;
  });
  amx_product(amx_kernels().bytes, rows, w);
}

}  // namespace quern::kernels
