// Error-feedback rounding (GPTQ/LDLQ family): what rounding a matrix costs its outputs, and how to round so that it
// costs little. y = x·Wᵀ; an error δ in a row of W costs E[(x·δ)²] = δᵀHδ, H = E[x·xᵀ] over the rows that a
// calibration text sends through the matrix. With H = U·D·Uᵀ, U unit upper triangular,
//     δᵀHδ = Σ_k d_k·(δ_k + Σ_{j<k} U_jk·δ_j)²
// so a weight is first shifted by Σ_{j<k} U_jk·δ_j, which compensates the errors of the channels before it as far as
// x_k is correlated with them, and then rounded; what remains is d_k times the square of its own rounding, where d_k
// is the part of x_k² that later channels cannot predict. Without correlation U is the identity and D the mean
// squares. `damping` times the mean diagonal is added to H: few rows say little about many channels, and other texts
// differ. Cost: K²·rows multiply-adds to collect, K³/6 to factor, N·K²/2 to round.
#pragma once
#include <vector>

#include "quern/kernels/quant/prepacked_weight.h"

namespace quern::kernels {

// What PrepackedWeight::observe adds up. A negative count of rows stands for a weight that is not watched now.
void add_outer_products(View<const float, 2> x, InputSquares& to);

struct InputFactor {
  std::vector<float> d;  // [K]
  Tensor u;              // [K, K]
};

// Uses up the memory of `seen`. Without rows, or with zeros alone: an empty factor, which rounds as if none were
// given.
InputFactor factor_inputs(InputSquares&& seen, double damping);

// QuantLinear::pack with feedback.
QuantLinear quantize_with_error_feedback(const Tensor& w, const QuantFormat& s, const InputFactor& inputs);

// Σ wᵀHw over the rows of w, [N, K] in f32.
double output_cost(const InputFactor& f, const Tensor& w);

}  // namespace quern::kernels
