// Operations on a tape, forward and backward side by side in their .cc files. Rows are tokens: [T, D] unless a suffix
// says otherwise. Parameters may be f32 or f64, like the activations.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/grad/tape.h"
#include "quern/kernels/activation/activation.h"
#include "quern/kernels/cross_entropy/head_objective.h"
#include "quern/kernels/cross_entropy/head_rows.h"
#include "quern/kernels/quant/prepacked_weight.h"
#include "quern/kernels/rope/rope.h"
#include "quern/nn/linear.h"
#include "quern/nn/residual.h"

namespace quern::nn {

// Elementwise (elementwise.cc)
grad::Var add(grad::Tape& tape, const grad::Var& a, const grad::Var& b);
grad::Var mul(grad::Tape& tape, const grad::Var& a, const grad::Var& b);
grad::Var scale(grad::Tape& tape, const grad::Var& a, double factor);
grad::Var add_bias(grad::Tape& tape, const grad::Var& x_TD, grad::Parameter& b_D);
grad::Var mul_columns(grad::Tape& tape, const grad::Var& x_TD, grad::Parameter& s_D);  // x[t, i]·s[i]
grad::Var mul_rows(grad::Tape& tape, const grad::Var& x_TD, const grad::Var& p_T1);    // x[t, i]·p[t]
grad::Var slice_columns(grad::Tape& tape, const grad::Var& x_TD, int64_t begin, int64_t n);
grad::Var concat_columns(grad::Tape& tape, const std::vector<grad::Var>& parts);
grad::Var activate(grad::Tape& tape, kernels::Activation a, const grad::Var& x_TD);
grad::Var gated(grad::Tape& tape, kernels::Activation a, const grad::Var& gate_up_T2F);
grad::Var sum(grad::Tape& tape, const grad::Var& x);  // one element

// Norms and softmax (norm.cc)
grad::Var rms_norm(grad::Tape& tape, const grad::Var& x_TD, grad::Parameter& w_D, double eps);
grad::Var layer_norm(grad::Tape& tape, const grad::Var& x_TD, grad::Parameter& w_D, grad::Parameter& b_D, double eps);
grad::Var softmax(grad::Tape& tape, const grad::Var& x_TD);
grad::Var l2_norm(grad::Tape& tape, const grad::Var& x_THd, grad::Parameter* temperature_H, double scale, double eps);

// Position (rope.cc). x [T, H, d]; the first 2·inv_freq.size() dims turn.
grad::Var rope(grad::Tape& tape, const grad::Var& x_THd, const kernels::RopeAngles& angles,
               kernels::RopePairing pairing = kernels::RopePairing::half);

// Embedding and head (head.cc)
grad::Var embedding(grad::Tape& tape, grad::Parameter& table_VD, std::span<const int32_t> ids);
grad::Var head_logits(grad::Tape& tape, const grad::Var& h_TD, grad::Parameter& w_VD);
// W [V, D] of the losses: a value of the tape, or prepacked in any form. The latter does not learn, and is taken back to
// f32 some rows at a time.
struct HeadWeight {
  grad::Var value;
  kernels::PrepackedWeight packed = {};
  HeadWeight(grad::Var w) : value(std::move(w)) {}
  HeadWeight(kernels::PrepackedWeight w) : packed(std::move(w)) {}
};
// Mean cross-entropy over targets ≥ 0, weighted; logits exist a chunk of tokens at a time.
grad::Var head_loss(grad::Tape& tape, const grad::Var& h_TD, const HeadWeight& w, std::span<const int32_t> targets,
                    std::span<const double> weights);
// Σ_t f_t(log p_t), with logits divided by the temperature (kernels/cross_entropy/head_objective.h). f is called during
// this call only.
struct HeadTerms {
  std::span<const int32_t> targets;
  const kernels::TokenObjective& f;
  double temperature = 1;
  const kernels::RowsObjective* rows =
      nullptr;  // instead of all others: an objective of whole rows of logits, in f32
};
grad::Var head_objective(grad::Tape& tape, const grad::Var& h_TD, const HeadWeight& w, const HeadTerms& terms);

grad::Var reshape(grad::Tape& tape, const grad::Var& x, Shape shape);

}  // namespace quern::nn
