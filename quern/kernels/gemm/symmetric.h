// Matrix products with a symmetric result, at half the cost: C = α·X·Xᵀ + β·S. Only tiles on and above the diagonal
// are computed; each is written to its position and, transposed, to the mirrored one, so that C is symmetric to the
// last bit. The square of a symmetric matrix is the same product (A·A = A·Aᵀ). Accumulates in f32, in an order that
// does not depend on the thread count. Cost: M²K flops instead of 2M²K, and M·64·K more along the diagonal.
//
// gemm_bf16 is the general product, C = α·A·B + β·S in bf16 with f32 accumulation: Newton–Schulz needs both. bf16
// operands: rows start at even elements, and the extent that is summed over is even.
#pragma once
#include "quern/base/bf16.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

struct Scales {
  double alpha = 1, beta = 0;  // beta 0: S may be null
};

template <class T>  // float, bf16
void symmetric_product(View<const T, 2> x_MK, View<const T, 2> s_MM, View<T, 2> c_MM, Scales scales = {});

// The definition, every element by itself; accumulates in double. Also double.
template <class T>
void symmetric_product_ref(View<const T, 2> x_MK, View<const T, 2> s_MM, View<T, 2> c_MM, Scales scales = {});

void gemm_bf16(View<const bf16, 2> a_MK, View<const bf16, 2> b_KN, View<const bf16, 2> s_MN, View<bf16, 2> c_MN,
               Scales scales = {});
void gemm_bf16_ref(View<const bf16, 2> a_MK, View<const bf16, 2> b_KN, View<const bf16, 2> s_MN, View<bf16, 2> c_MN,
                   Scales scales = {});

}  // namespace quern::kernels
