// f32 matrix multiplication whose operands are rounded to bf16 and summed in f32, for training where bf16 is faster.
// Gives the same numbers as PackedLinear in bf16.
#pragma once
#include "quern/kernels/gemm/gemm.h"

namespace quern::kernels {

void gemm_rounded(View<const float, 2> a, View<const float, 2> b, View<float, 2> c, GemmOptions o);

}  // namespace quern::kernels
