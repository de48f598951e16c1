// C = op(A)·op(B) + beta·C, a panel of 64 columns of C per work item: for each block of K, the panel of B is copied
// (transposed if necessary) into thread scratch, then every 6 rows of A are multiplied by it. A is read in place.
// Cost: 2MNK flops plus one copy of B; the copy is 1/M of the work.
#include "quern/kernels/gemm/gemm_panels.h"

#include <algorithm>
#include <cstring>

#include "quern/base/threads.h"
#include "quern/kernels/gemm/tile.h"

namespace quern::kernels {
namespace {

constexpr int64_t kBlockK = 256;  // 64 × 256 floats = 64 KiB: the second-level cache, with room for rows of A

void scale(View<float, 2> c, double beta) {
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) c(i, j) = beta == 0 ? 0 : static_cast<float>(beta) * c(i, j);
}

// panel[p, j] = op(B)[k0 + p, j0 + j], zero past the last column.
void copy_panel(const TileKernels& t, View<const float, 2> b, bool trans, int64_t k0, int64_t kn, int64_t j0,
                int64_t jn, float* panel) {
  if (jn < kTileColumns) std::memset(panel, 0, static_cast<size_t>(kn * kTileColumns) * sizeof(float));
  if (trans) {
    t.transpose(reinterpret_cast<const uint32_t*>(b.row(j0) + k0), b.stride[0], jn, kn,
                reinterpret_cast<uint32_t*>(panel), kTileColumns);
    return;
  }
  for (int64_t p = 0; p < kn; ++p)
    std::memcpy(panel + p * kTileColumns, b.row(k0 + p) + j0, static_cast<size_t>(jn) * sizeof(float));
}

}  // namespace

void gemm_panels(View<const float, 2> a, View<const float, 2> b, View<float, 2> c, GemmOptions o) {
  int64_t m = c.shape[0], n = c.shape[1], k = a.shape[o.trans_a ? 0 : 1];
  if (o.beta != 1) scale(c, o.beta);
  const TileKernels& kernels = tile_kernels();
  int64_t panels = (n + kTileColumns - 1) / kTileColumns, parts = std::min<int64_t>(panels, thread_count());
  Arena& arena = thread_arena();
  Arena::Scope scope(arena);
  constexpr int64_t kEdge = kTileRows * kTileColumns;  // a ragged last panel is summed here, then copied
  float* scratch = arena.take<float>(parts * (kBlockK * kTileColumns + kEdge)).data();
  parallel_for(parts, 1, [&](int64_t p_begin, int64_t p_end) {
    float* panel = scratch + p_begin * (kBlockK * kTileColumns + kEdge);
    float* edge = panel + kBlockK * kTileColumns;
    for (int64_t j0 = panels * p_begin / parts * kTileColumns;
         j0 < std::min(n, panels * p_end / parts * kTileColumns); j0 += kTileColumns)
      for (int64_t k0 = 0; k0 < k; k0 += kBlockK) {
        int64_t jn = std::min<int64_t>(kTileColumns, n - j0), kn = std::min(kBlockK, k - k0);
        copy_panel(kernels, b, o.trans_b, k0, kn, j0, jn, panel);
        Tile t{.a_row = o.trans_a ? 1 : a.stride[0],
               .a_k = o.trans_a ? a.stride[0] : 1,
               .b = panel,
               .b_k = kTileColumns,
               .k = kn,
               .groups = static_cast<int>((jn + 15) / 16),
               .add = true};
        for (int64_t i = 0; i < m; i += kTileRows) {
          t.rows = static_cast<int>(std::min<int64_t>(kTileRows, m - i));
          t.a = o.trans_a ? &a(k0, i) : &a(i, k0);
          if (jn % 16 == 0) {
            t.c = &c(i, j0), t.c_row = c.stride[0];
            kernels.f32(t);
            continue;
          }
          t.c = edge, t.c_row = kTileColumns;
          for (int64_t r = 0; r < t.rows; ++r) std::copy_n(&c(i + r, j0), jn, edge + r * kTileColumns);
          kernels.f32(t);
          for (int64_t r = 0; r < t.rows; ++r) std::copy_n(edge + r * kTileColumns, jn, &c(i + r, j0));
        }
      }
  });
}

}  // namespace quern::kernels
