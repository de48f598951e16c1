// Bodies of the fast row loops, included only by row_math_avx2.cc and row_math_avx512.cc. The product holds a tile of
// c in registers: kRows × kVectors sums, 24 of AVX-512's 32 registers and 8 of AVX2's 16, plus one vector of b each
// and a broadcast of a.
#pragma once
#include "quern/kernels/vec_math.h"
#include "quern/mixers/ovq/row_math_simd.h"

namespace quern::mixers {
namespace {

using kernels::kLanes;
using kernels::Vf;

#if defined(__AVX512F__)
constexpr int kTileRows = 6, kTileVectors = 4;
#else
constexpr int kTileRows = 4, kTileVectors = 2;
#endif
constexpr int kWideVectors = 8;  // of a tile of one row: as many chains as hide an addition's latency

template <int R, int V, class Tag>
inline __attribute__((always_inline)) void tile(const SmallProduct<float>& p, int64_t i, int64_t j, Tag tag) {
  Vf sum[R][V];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v)
      sum[r][v] = p.add ? kernels::load(p.c + (i + r) * p.c_row + j + v * kLanes, tag) : kernels::vset(0);
  const float* a = p.a + i * p.a_row;
  const float* b = p.b + j;
  for (int64_t k = 0; k < p.k; ++k, a += p.a_col, b += p.b_row) {
    Vf bv[V];
    for (int v = 0; v < V; ++v) bv[v] = kernels::load(b + v * kLanes, tag);
    for (int r = 0; r < R; ++r) {
      const Vf av = kernels::vset(a[r * p.a_row]);
      for (int v = 0; v < V; ++v) sum[r][v] = kernels::fma(av, bv[v], sum[r][v]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) kernels::store(p.c + (i + r) * p.c_row + j + v * kLanes, sum[r][v], tag);
}

template <int V, class Tag>
inline void tile_column(const SmallProduct<float>& p, int64_t i, int64_t j, Tag tag) {
  for (; i + kTileRows <= p.m; i += kTileRows) tile<kTileRows, V>(p, i, j, tag);
  for (; i + 2 <= p.m; i += 2) tile<2, V>(p, i, j, tag);
  for (; i < p.m; ++i) tile<1, V>(p, i, j, tag);
}

void product(const SmallProduct<float>& p) {
  int64_t j = 0;
  if (p.m == 1)
    for (; j + kWideVectors * kLanes <= p.n; j += kWideVectors * kLanes)
      tile<1, kWideVectors>(p, 0, j, kernels::Full{});
  for (; j + kTileVectors * kLanes <= p.n; j += kTileVectors * kLanes)
    tile_column<kTileVectors>(p, 0, j, kernels::Full{});
  for (; j + kLanes <= p.n; j += kLanes) tile_column<1>(p, 0, j, kernels::Full{});
  if (j < p.n) tile_column<1>(p, 0, j, kernels::PartialVec(p.n - j));
}

void exps(int64_t n, float shift, float* x) {
  kernels::each_vec(n, [&](int64_t c, auto m) {
    kernels::store(x + c, kernels::vexp(kernels::load(x + c, m) - kernels::vset(shift)), m);
  });
}

float sum_row(int64_t n, const float* x) {
  return kernels::sum_vec(n, [&](int64_t c, auto m) { return kernels::load(x + c, m); });
}

float dot_row(int64_t n, const float* x, const float* y) {
  return kernels::sum_vec(n, [&](int64_t c, auto m) { return kernels::load(x + c, m) * kernels::load(y + c, m); });
}

void scale_row(int64_t n, float s, float* x) {
  kernels::each_vec(n,
                    [&](int64_t c, auto m) { kernels::store(x + c, kernels::load(x + c, m) * kernels::vset(s), m); });
}

void divide_row(int64_t n, float s, const float* d, float* x) {
  kernels::each_vec(n, [&](int64_t c, auto m) {
    const Vf by = kernels::keep(kernels::load(d + c, m), kernels::vset(1), m);
    kernels::store(x + c, kernels::load(x + c, m) * kernels::vset(s) / by, m);
  });
}

void add_row(int64_t n, float s, const float* x, float* y) {
  kernels::each_vec(n, [&](int64_t c, auto m) {
    kernels::store(y + c, kernels::fma(kernels::vset(s), kernels::load(x + c, m), kernels::load(y + c, m)), m);
  });
}

void center_row(int64_t n, float mean, const float* p, float* x) {
  kernels::each_vec(n, [&](int64_t c, auto m) {
    kernels::store(x + c, kernels::load(p + c, m) * (kernels::load(x + c, m) - kernels::vset(mean)), m);
  });
}

constexpr RowMathTable kRowMathTable = {product,   kernels::max_vec, exps,    sum_row,   dot_row,
                                        scale_row, divide_row,       add_row, center_row};

}  // namespace
}  // namespace quern::mixers
