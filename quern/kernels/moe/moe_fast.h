// Fast f32 mixture of experts for training, and the one on prepacked weights, which do not learn. Arguments are checked by
// the entry points in moe.cc.
#pragma once
#include "quern/kernels/moe/moe.h"

namespace quern::kernels {

void grouped_gemm_fast(View<const float, 2> x, View<const float, 3> w, const MoePlan& plan, View<float, 2> y);
void moe_ffn_fast(const MoeForward<float>& a, const MoePlan& plan, Arena& scratch);
void moe_ffn_backward_fast(const MoeBackward<float>& a, const MoePlan& plan, Arena& scratch);

}  // namespace quern::kernels
