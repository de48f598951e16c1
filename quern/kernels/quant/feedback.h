// What rounding a matrix costs its outputs, and how to round so that it costs little. y = x·Wᵀ; an error δ in a row
// of W costs E[(x·δ)²] = δᵀHδ, H = E[x·xᵀ] over the rows a text sends through the matrix. With H = U·D·Uᵀ, U unit
// upper triangular,
//     δᵀHδ = Σ_k d_k·(δ_k + Σ_{j<k} U_jk·δ_j)²
// so a weight that is rounded after the channels before it is first moved by Σ_{j<k} U_jk·δ_j, what their errors cost
// where x_k follows them; all that is left is d_k times the square of its own rounding, d_k the part of x_k² that
// later channels cannot foretell. Without correlation U is the identity and D the mean squares. H gets `damping`
// times its mean diagonal added: few rows say little about many channels, and other texts differ. Cost: K²·rows
// multiply-adds to collect, K³/6 to factor, N·K²/2 to round by.
#pragma once
#include <vector>

#include "quern/kernels/quant/packed_weight.h"

namespace quern::kernels {

// What PackedWeight::observe adds up. A negative count of rows stands for a weight that is not watched now.
void add_outer_products(View<const float, 2> x, InputSquares& to);

struct InputFactor {
  std::vector<float> d;  // [K]
  Tensor u;              // [K, K]
};

// Uses up the memory of `seen`. Without rows, or with zeros alone: an empty factor, which rounds as if none were
// given.
InputFactor factor_inputs(InputSquares&& seen, double damping);

// QuantLinear::pack with feedback.
QuantLinear pack_with_feedback(const Tensor& w, const WeightScheme& s, const InputFactor& inputs);

// Σ wᵀHw over the rows of w, [N, K] in f32.
double output_cost(const InputFactor& f, const Tensor& w);

}  // namespace quern::kernels
