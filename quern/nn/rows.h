// Loops over token rows, split over threads. for_rows applies a row function to contiguous tensors seen as [rows, D]
// (D = last extent).
#pragma once
#include <array>
#include <initializer_list>

#include "quern/base/threads.h"
#include "quern/tensor/tensor.h"

namespace quern::nn {

// f(in, out, D): in[i] points at this row of the i-th input.
template <class T, class F>
void for_rows(std::initializer_list<Tensor> inputs, const Tensor& out, F&& f) {
  constexpr int64_t kGrainBytes = 32 << 10;  // less than this is not worth a second thread
  std::array<const T*, 4> base{};
  size_t n = 0;
  for (const Tensor& t : inputs) {
    QUERN_CHECK(t.contiguous() && t.size() == out.size() && n < base.size());
    base[n++] = t.data<T>();
  }
  QUERN_CHECK(out.contiguous());
  int64_t D = out.rank() ? out.dim(-1) : 1, rows = D ? out.size() / D : 0;
  T* o = out.data<T>();
  parallel_for(rows, kGrainBytes / static_cast<int64_t>(sizeof(T)) / std::max<int64_t>(1, D) + 1,
               [&](int64_t b, int64_t e) {
                 std::array<const T*, 4> in{};
                 for (int64_t t = b; t < e; ++t) {
                   for (size_t i = 0; i < n; ++i) in[i] = base[i] + t * D;
                   f(in.data(), o + t * D, D);
                 }
               });
}

// acc[c] += Σ_t gy[t, c]·x[t, c] (x may be null: 1). Threads own columns, so that the order of the sum is fixed.
template <class T>
void add_column_sums(View<const T, 2> gy, View<const T, 2> x, View<T, 1> acc) {
  constexpr int64_t kColumns = 256;
  parallel_for(gy.shape[1], kColumns, [&](int64_t c0, int64_t c1) {
    T* a = acc.data;
    for (int64_t t = 0; t < gy.shape[0]; ++t) {
      const T *g = gy.row(t), *p = x ? x.row(t) : nullptr;
      if (p) {
#pragma omp simd
        for (int64_t c = c0; c < c1; ++c) a[c] += g[c] * p[c];
      } else {
#pragma omp simd
        for (int64_t c = c0; c < c1; ++c) a[c] += g[c];
      }
    }
  });
}

}  // namespace quern::nn
