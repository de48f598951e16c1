// Newton–Schulz orthogonalization (Jordan et al., Muon): brings all singular values of a matrix near 1.
//   X ← X / (‖X‖_F + 1e-7), wide (rows ≤ columns);   steps times: A ← X·Xᵀ,  B ← b·A + c·A·A,  X ← a·X + B·X
// Published coefficients: (a, b, c) = (3.4445, −4.7750, 2.0315) at every step. Singular values then end in a band,
// about [0.68, 1.21], if they began above 1/200 of ‖X‖_F; smaller ones grow at most 3.4445-fold per step; five steps
// are usual. Minimax coefficients, the default: each step uses the odd quintic that is closest to 1 on a little more
// than the interval the previous one leaves of [0.0005, 1], and X is divided by 1.01·(Σσ⁴)^¼ = 1.01·‖X·Xᵀ‖_F^½, which
// is nearer to the largest singular value and known from the first product. Six steps then reach [0.97, 1.03] from
// 0.0005 on, [0.7, 1.03] from 0.00026 on. A and A·A are symmetric and cost half; with rows m ≤ columns k a step takes
// m²k + m³ + 2m²k flops.
#pragma once
#include <cstdint>
#include <vector>

#include "quern/tensor/dtype.h"
#include "quern/tensor/view.h"

namespace quern::optim {

struct NewtonSchulzOptions {
  int steps = 6;
  DType dtype = DType::bf16;  // of the products' operands, or f32; sums are f32 always
  enum class Coefficients { published, minimax } coefficients = Coefficients::minimax;
};

// x becomes its own orthogonalized form. Zero stays zero. Scratch comes from the thread's arena.
void newton_schulz(View<float, 2> x, const NewtonSchulzOptions& o);
double newton_schulz_flops(int64_t rows, int64_t columns, int steps);        // done
double newton_schulz_plain_flops(int64_t rows, int64_t columns, int steps);  // without using the symmetry

}  // namespace quern::optim
