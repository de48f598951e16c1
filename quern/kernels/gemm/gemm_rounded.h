// f32 product whose operands are rounded to bf16 on the way in and summed in f32: what training multiplies with where
// bf16 products are faster. The same numbers as PackedLinear in bf16 gives.
#pragma once
#include "quern/kernels/gemm/gemm.h"

namespace quern::kernels {

void gemm_rounded(View<const float, 2> a, View<const float, 2> b, View<float, 2> c, GemmOptions o);

}  // namespace quern::kernels
