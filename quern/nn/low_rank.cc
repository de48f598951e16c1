#include "quern/nn/low_rank.h"

#include "quern/kernels/gemm/gemm.h"

namespace quern::nn {

void LowRank::add_to(const Tensor& y_TN, const Tensor& x_TK) const {
  if (!defined()) return;
  Tensor low_TR = Tensor::empty({x_TK.dim(0), a_RK.dim(0)}, DType::f32);
  kernels::gemm<float>(x_TK.view<const float, 2>(), a_RK.view<const float, 2>(), low_TR.view<float, 2>(),
                       {.trans_b = true});
  kernels::gemm<float>(low_TR.view<const float, 2>(), b_NR.view<const float, 2>(), y_TN.view<float, 2>(),
                       {.trans_b = true, .beta = 1});
}

}  // namespace quern::nn
