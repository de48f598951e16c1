// A low-rank path beside a matrix W [N, K]: y = x·Wᵀ + s·(x·Aᵀ)·Bᵀ, as LoRA adapters have them. It is never merged into
// W, so W may be quantized, and may be shared by several call sites with paths of their own. For inference.
// Cost per token: R·(K + N) multiply-adds.
#pragma once
#include <string>

#include "quern/tensor/tensor.h"

namespace quern::nn {

struct LowRank {
  Tensor a_RK, b_NR;  // f32; s is a factor of B

  bool defined() const { return a_RK.defined(); }
  // y += (x·Aᵀ)·Bᵀ in place; does nothing when undefined.
  void add_to(const Tensor& y_TN, const Tensor& x_TK) const;
};

// Where modules find the paths of their matrices while they are packed.
struct LowRankSource {
  virtual ~LowRankSource() = default;
  virtual LowRank find(const std::string& matrix, int64_t n, int64_t k) = 0;  // undefined: there is none
};

}  // namespace quern::nn
