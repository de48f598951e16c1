// Products of low rank beside matrices, as LoRA adapters have them, where rows choose their own: y[t] += s·(x[t]·Aᵀ)·Bᵀ.
// A row's sums are made in one order, whatever stands beside it. For inference; what learns is nn/low_rank.h.
// Cost per row: R·(K + N) multiply-adds. A few rows an adapter are bound by reading A and B once for each adapter.
#pragma once
#include <span>

#include "quern/base/arena.h"
#include "quern/tensor/tensor.h"

namespace quern::kernels {

// A [R, K] and Bᵀ [R, N], rows padded to whole vectors, in f32 or bf16.
class LowRankFactors {
 public:
  LowRankFactors() = default;
  static LowRankFactors pack(const Tensor& a_RK, const Tensor& b_NR, double scale, DType as = DType::f32);
  bool defined() const { return a_.defined(); }
  int64_t rank() const { return a_.dim(0); }
  int64_t n() const { return n_; }
  int64_t k() const { return k_; }
  float scale() const { return scale_; }
  int64_t bytes() const { return a_.bytes() + b_.bytes(); }
  const Tensor& a() const { return a_; }  // [R, K padded]
  const Tensor& b() const { return b_; }  // [R, N padded]

 private:
  Tensor a_, b_;
  int64_t n_ = 0, k_ = 0;
  float scale_ = 1;
};

struct LowRankRows {
  int64_t begin, end;  // rows of x and y
  const LowRankFactors* factors;
  float scale;  // times the factors' own
};

// Stretches in order of their rows; one that comes several times, neighbors, gets the sum. y: [T, N], rows strided.
void add_low_rank(View<const float, 2> x, std::span<const LowRankRows> rows, View<float, 2> y);
// The definition; accumulates in double.
void add_low_rank_ref(View<const float, 2> x, std::span<const LowRankRows> rows, View<float, 2> y);

}  // namespace quern::kernels
