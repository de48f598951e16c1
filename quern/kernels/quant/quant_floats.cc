// W back in f32: rows of it, and products with W itself, out (+)= g·W, where apply() multiplies by its transpose. A piece
// of a panel is dequantized to [k][64 rows] in a thread's own 16 KiB and turned. For a product, 256 rows of W by 64
// columns (64 KiB) are made so and multiplied at once by every row of g, in f32: W is read and dequantized once, whatever
// the number of rows, and each sum adds up the rows of W in order.
#include <algorithm>

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/cpu/products.h"
#include "quern/kernels/gemm/tile.h"
#include "quern/kernels/quant/quant_kernels.h"
#include "quern/kernels/quant/quant_linear.h"
#include "quern/kernels/quant/quant_ref.h"

namespace quern::kernels {
namespace {

constexpr int64_t kPanel = QuantLayout::kPanel;
constexpr int64_t kPiece = 64;   // values of k that are turned at a time; a whole number of blocks
constexpr int64_t kDepth = 256;  // rows of W between two passes over the rows of g

// Where rows of W go: `slice` columns of each side by side, the next ones `next` floats on.
struct Target {
  float* data;
  int64_t row;  // from one to the next
  int64_t slice = kPiece, next = 0;
};

class Floats {
 public:
  Floats(const QuantLayout& l, const uint8_t* blob)
      : l_(l), blob_(blob), scales_(reinterpret_cast<const float*>(blob + l.scales_at())) {}

  // W[i, k0 : k0 + n] for the rows [begin, end); n ≤ kPiece.
  void write(int64_t begin, int64_t end, int64_t k0, int64_t n, Target to) const {
    alignas(64) float block[kPiece * kPanel];
    for (int64_t i = begin; i < end;) {
      const int64_t panel = i / kPanel, column = i % kPanel, columns = std::min(kPanel - column, end - i);
      kernels_.to_floats({.from = blob_ + panel * l_.panel_bytes() + k0 / l_.block_k * l_.block_bytes,
                          .blocks = (n + l_.block_k - 1) / l_.block_k,
                          .group = l_.block_k,
                          .four = l_.four,
                          .asymmetric = l_.asymmetric,
                          .scales = scales_ + panel * kPanel,
                          .to = block});
      for (int64_t k = 0; k < n; k += to.slice)
        tile_.transpose(reinterpret_cast<const uint32_t*>(block + k * kPanel + column), kPanel,
                        std::min(to.slice, n - k), columns,
                        reinterpret_cast<uint32_t*>(to.data + k / to.slice * to.next + (i - begin) * to.row), to.row);
      i += columns;
    }
  }

 private:
  const QuantLayout& l_;
  const uint8_t* blob_;
  const float* scales_;
  const QuantKernels& kernels_ = quant_kernels();
  const TileKernels& tile_ = tile_kernels();
};

// out (+)= g·w for out's columns, at most as many as registers take at once; w [g.shape[1]][width].
void multiply_group(View<const float, 2> g, const float* w, int64_t width, View<float, 2> out, bool add) {
  const int64_t columns = out.shape[1];
  alignas(64) float edge[kTileRows * kPiece];
  const bool whole = columns % 16 == 0;
  for (int64_t t = 0; t < g.shape[0]; t += kTileRows) {
    const int64_t rows = std::min<int64_t>(kTileRows, g.shape[0] - t);
    for (int64_t r = 0; !whole && add && r < rows; ++r) std::copy_n(out.row(t + r), columns, edge + r * kPiece);
    tile_kernels().f32({.a = g.row(t),
                        .a_row = g.stride[0],
                        .b = w,
                        .b_k = width,
                        .c = whole ? out.row(t) : edge,
                        .c_row = whole ? out.stride[0] : kPiece,
                        .k = g.shape[1],
                        .rows = static_cast<int>(rows),
                        .groups = static_cast<int>((columns + 15) / 16),
                        .add = add});
    for (int64_t r = 0; !whole && r < rows; ++r) std::copy_n(edge + r * kPiece, columns, out.row(t + r));
  }
}

// Some rows of g at a time, which stay in the second-level cache while all groups of w pass.
void multiply(View<const float, 2> g, Target w, View<float, 2> out, bool add) {
  constexpr int64_t kRows = 192;
  for (int64_t t = 0; t < g.shape[0]; t += kRows) {
    const int64_t end = std::min(g.shape[0], t + kRows);
    for (int64_t c = 0; c < out.shape[1]; c += w.slice)
      multiply_group(g.slice(t, end), w.data + c / w.slice * w.next, w.row,
                     {out.row(t) + c, {end - t, std::min(w.slice, out.shape[1] - c)}, {out.stride[0], 1}}, add);
  }
}

}  // namespace

void QuantLinear::row(int64_t i, View<float, 1> out) const {
  QUERN_CHECK(i >= 0 && i < n() && out.shape[0] == k(), "row {} of {}", i, n());
  for (int64_t p = 0; p < k(); ++p) out(p) = quant_weight(layout_, blob_.data<uint8_t>(), i, p);
}

void QuantLinear::rows(int64_t begin, View<float, 2> out) const {
  const int64_t count = out.shape[0];
  QUERN_CHECK(begin >= 0 && begin + count <= n() && out.shape[1] == k(), "rows {} … {} of {}", begin, begin + count,
              n());
  if (active_isa() == Isa::ref) {
    for (int64_t i = 0; i < count; ++i) row(begin + i, {out.row(i), {k()}});
    return;
  }
  const Floats floats(layout_, blob_.data<uint8_t>());
  const int64_t first = begin / kPanel, panels = (begin + count + kPanel - 1) / kPanel - first,
                pieces = (k() + kPiece - 1) / kPiece;
  constexpr int64_t kGrain = 4;  // pieces worth a thread
  parallel_for(panels * pieces, kGrain, [&](int64_t from, int64_t to) {
    for (int64_t item = from; item < to; ++item) {
      const int64_t panel = first + item / pieces, at = item % pieces * kPiece, i = std::max(begin, panel * kPanel),
                    end = std::min(begin + count, (panel + 1) * kPanel);
      const int64_t columns = std::min(kPiece, k() - at);
      floats.write(i, end, at, columns, {out.row(i - begin) + at, out.stride[0]});
    }
  });
}

bool QuantLinear::multiplies_in_f32(GemmOptions o) {
  return active_isa() != Isa::ref && (!o.bf16 || bf16_products() == Bf16Products::fma);
}

void QuantLinear::apply_transposed(View<const float, 2> g, int64_t begin, View<float, 2> out, GemmOptions o,
                                   Arena& scratch) const {
  const int64_t end = begin + g.shape[1];
  QUERN_CHECK(begin >= 0 && end <= n() && out.shape[1] == k() && out.shape[0] == g.shape[0],
              "g [{}, {}], rows from {} of W [{}, {}], out [{}, {}]", g.shape[0], g.shape[1], begin, n(), k(),
              out.shape[0], out.shape[1]);
  QUERN_CHECK(multiplies_in_f32(o) && (o.beta == 0 || o.beta == 1));
  Arena::Scope scope(scratch);
  const Floats floats(layout_, blob_.data<uint8_t>());
  float* blocks = scratch.take<float>(thread_count() * kDepth * kPiece).data();
  const int64_t width = 16 * tile_kernels().step_groups;
  parallel_dynamic((k() + kPiece - 1) / kPiece, [&](int64_t piece) {
    const Target w{blocks + thread_index() * kDepth * kPiece, width, width, width * kDepth};
    const int64_t at = piece * kPiece, columns = std::min(kPiece, k() - at);
    const View<float, 2> to(out.data + at, {out.shape[0], columns}, {out.stride[0], 1});
    for (int64_t i = begin, next = 0; i < end; i = next) {
      next = std::min(end, (i / kPanel) * kPanel + kDepth);  // whole panels but for the first and the last
      floats.write(i, next, at, columns, w);
      multiply({g.data + (i - begin), {g.shape[0], next - i}, {g.stride[0], 1}}, w, to, i > begin || o.beta != 0);
    }
  });
}

}  // namespace quern::kernels
