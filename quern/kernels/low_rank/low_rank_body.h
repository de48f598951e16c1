// Bodies of the fast low-rank products; included only by low_rank_avx2.cc and low_rank_avx512.cc. Tiles of rows share what
// is loaded of A and B; each element has an accumulator of its own, so that the size of a tile does not show in the bits.
#pragma once
#include "quern/kernels/low_rank/low_rank_simd.h"
#include "quern/kernels/vec_math.h"

namespace quern::kernels {
namespace {

constexpr int kTileRows = kLanes == 16 ? 4 : 2;  // times 4 accumulators: what the registers hold
constexpr int64_t kColumns = 64;                 // of y: no block of columns ends elsewhere

inline Vf factor(const float* p) { return load(p, Full{}); }
#if defined(__AVX512F__)
inline Vf factor(const uint16_t* p) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
}
#else
inline Vf factor(const uint16_t* p) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
}
#endif

template <class E, int kRows, int kRanks>
void reduce_tile(const LowRankBlock& w, int64_t t, int64_t r) {
  const float* x = w.x + t * w.x_stride;
  const E* a = static_cast<const E*>(w.a) + r * w.a_stride;
  Vf sums[kRows][kRanks];
  for (auto& row : sums)
    for (Vf& s : row) s = vset(0);
  auto step = [&](int64_t i, auto m) {
    Vf rows[kRows];
    for (int u = 0; u < kRows; ++u) rows[u] = load(x + u * w.x_stride + i, m);
    for (int v = 0; v < kRanks; ++v) {
      const Vf f = factor(a + v * w.a_stride + i);
      for (int u = 0; u < kRows; ++u) sums[u][v] = fma(rows[u], f, sums[u][v]);
    }
  };
  int64_t i = 0;
  for (; i + kLanes <= w.k; i += kLanes) step(i, Full{});
  if (i < w.k) step(i, PartialVec(w.k - i));
  for (int u = 0; u < kRows; ++u)
    for (int v = 0; v < kRanks; ++v) w.low[(t + u) * w.rank + r + v] = w.scale * sum(sums[u][v]);
}

template <class E, int kRows>
void reduce_rows(const LowRankBlock& w, int64_t t, int64_t begin, int64_t end) {
  constexpr int kRanks = kRows == 1 ? 8 : 4;
  int64_t r = begin;
  for (; r + kRanks <= end; r += kRanks) reduce_tile<E, kRows, kRanks>(w, t, r);
  for (; r < end; ++r) reduce_tile<E, kRows, 1>(w, t, r);
}

template <class E>
void reduce(const LowRankBlock& w, int64_t begin, int64_t end) {
  int64_t t = 0;
  for (; t + kTileRows <= w.rows; t += kTileRows) reduce_rows<E, kTileRows>(w, t, begin, end);
  for (; t < w.rows; ++t) reduce_rows<E, 1>(w, t, begin, end);
}

template <class E, int kRows, class M>
void expand_tile(const LowRankBlock& w, int64_t t, int64_t c, M m) {
  const E* b = static_cast<const E*>(w.b) + c;
  const float* low = w.low + t * w.rank;
  float* y = w.y + t * w.y_stride + c;
  Vf sums[kRows];
  for (int u = 0; u < kRows; ++u) sums[u] = load(y + u * w.y_stride, m);
  for (int64_t r = 0; r < w.rank; ++r) {
    const Vf f = factor(b + r * w.b_stride);
    for (int u = 0; u < kRows; ++u) sums[u] = fma(vset(low[u * w.rank + r]), f, sums[u]);
  }
  for (int u = 0; u < kRows; ++u) store(y + u * w.y_stride, sums[u], m);
}

// Four vectors of columns at a time: one row alone has enough sums under way.
template <class E, int kRows>
void expand_wide(const LowRankBlock& w, int64_t t, int64_t c) {
  const E* b = static_cast<const E*>(w.b) + c;
  const float* low = w.low + t * w.rank;
  float* y = w.y + t * w.y_stride + c;
  Vf sums[kRows][4];
  for (int u = 0; u < kRows; ++u)
    for (int v = 0; v < 4; ++v) sums[u][v] = load(y + u * w.y_stride + v * kLanes, Full{});
  for (int64_t r = 0; r < w.rank; ++r) {
    Vf rows[kRows];
    for (int u = 0; u < kRows; ++u) rows[u] = vset(low[u * w.rank + r]);
    for (int v = 0; v < 4; ++v) {
      const Vf f = factor(b + r * w.b_stride + v * kLanes);
      for (int u = 0; u < kRows; ++u) sums[u][v] = fma(rows[u], f, sums[u][v]);
    }
  }
  for (int u = 0; u < kRows; ++u)
    for (int v = 0; v < 4; ++v) store(y + u * w.y_stride + v * kLanes, sums[u][v], Full{});
}

template <class E, int kRows>
void expand_rows(const LowRankBlock& w, int64_t t, int64_t begin, int64_t end) {
  int64_t c = begin;
  for (; c + 4 * kLanes <= end; c += 4 * kLanes) expand_wide<E, kRows>(w, t, c);
  for (; c + kLanes <= end; c += kLanes) expand_tile<E, kRows>(w, t, c, Full{});
  if (c < end) expand_tile<E, kRows>(w, t, c, PartialVec(end - c));
}

template <class E>
void expand(const LowRankBlock& w, int64_t begin, int64_t end) {
  int64_t t = 0;
  for (; t + kTileRows <= w.rows; t += kTileRows) expand_rows<E, kTileRows>(w, t, begin, end);
  for (; t < w.rows; ++t) expand_rows<E, 1>(w, t, begin, end);
}

constexpr LowRankTable kLowRankTable = {{reduce<float>, reduce<uint16_t>}, {expand<float>, expand<uint16_t>}};

}  // namespace
}  // namespace quern::kernels
