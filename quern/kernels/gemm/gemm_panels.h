// f32 matrix multiplication with the tiles of this folder, used where oneDNN is not available (an instruction set
// below the one it was started with) or slow (few rows times a transposed B: its sgemm then copies all of B first).
#pragma once
#include "quern/kernels/gemm/gemm.h"

namespace quern::kernels {

void gemm_panels(View<const float, 2> a, View<const float, 2> b, View<float, 2> c, GemmOptions o);

}  // namespace quern::kernels
