// Embedding lookup and its backward. One version serves every instruction set: a row copy (or the exact widening of
// bf16) has no rounding, and memory is the bottleneck. y: [T, D], table: [V, D]. Backward splits columns, not tokens,
// over threads: each sum is then taken in token order by one thread, whatever the thread count. Cost: T·D reads of the
// table and T·D writes.
#include "quern/kernels/embedding/embedding.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/base/threads.h"

namespace quern::kernels {
namespace {

constexpr int64_t kGrainElements = 16384;  // 64 KiB of f32: ~10 µs of copying, what a thread's start costs

void check_ids(std::span<const int32_t> ids, int64_t rows) {
  for (int32_t id : ids) QUERN_CHECK(id >= 0 && id < rows, "token id {} in a table of {} rows", id, rows);
}

}  // namespace

template <class W, class T>
void embedding(View<const W, 2> table, std::span<const int32_t> ids, View<T, 2> y) {
  const int64_t n = static_cast<int64_t>(ids.size()), d = y.shape[1];
  QUERN_CHECK(y.shape[0] == n && table.shape[1] == d, "table [{}, {}], y [{}, {}], {} ids", table.shape[0],
              table.shape[1], y.shape[0], d, n);
  check_ids(ids, table.shape[0]);
  parallel_for(n, kGrainElements / std::max<int64_t>(1, d) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const W* src = table.row(ids[static_cast<size_t>(t)]);
      T* dst = y.row(t);
#pragma omp simd
      for (int64_t c = 0; c < d; ++c) dst[c] = static_cast<T>(src[c]);
    }
  });
}

template <class T>
void embedding_backward(std::span<const int32_t> ids, View<const T, 2> gy, View<T, 2> g_table) {
  const int64_t n = static_cast<int64_t>(ids.size()), d = gy.shape[1];
  QUERN_CHECK(gy.shape[0] == n && g_table.shape[1] == d, "g_table [{}, {}], gy [{}, {}], {} ids", g_table.shape[0],
              g_table.shape[1], gy.shape[0], d, n);
  check_ids(ids, g_table.shape[0]);
  parallel_for(d, kGrainElements / std::max<int64_t>(1, n) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = 0; t < n; ++t) {
      const T* src = gy.row(t);
      T* dst = g_table.row(ids[static_cast<size_t>(t)]);
#pragma omp simd
      for (int64_t c = begin; c < end; ++c) dst[c] += src[c];
    }
  });
}

template void embedding<float, float>(View<const float, 2>, std::span<const int32_t>, View<float, 2>);
template void embedding<double, double>(View<const double, 2>, std::span<const int32_t>, View<double, 2>);
template void embedding<bf16, float>(View<const bf16, 2>, std::span<const int32_t>, View<float, 2>);
template void embedding_backward<float>(std::span<const int32_t>, View<const float, 2>, View<float, 2>);
template void embedding_backward<double>(std::span<const int32_t>, View<const double, 2>, View<double, 2>);

}  // namespace quern::kernels
