// Operations on a tape, forward and backward side by side in their .cc files. Rows are tokens: [T, D] unless a suffix
// says otherwise. Parameters may be f32 or f64, like the activations.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/grad/tape.h"
#include "quern/kernels/activation/activation.h"
#include "quern/kernels/rope/rope.h"
#include "quern/nn/linear.h"
#include "quern/nn/residual.h"

namespace quern {

// Elementwise (elementwise.cc)
Var add(Tape& tape, const Var& a, const Var& b);
Var mul(Tape& tape, const Var& a, const Var& b);
Var scale(Tape& tape, const Var& a, double factor);
Var add_bias(Tape& tape, const Var& x_TD, Parameter& b_D);
Var mul_columns(Tape& tape, const Var& x_TD, Parameter& s_D);  // x[t, i]·s[i]
Var mul_rows(Tape& tape, const Var& x_TD, const Var& p_T1);    // x[t, i]·p[t]
Var slice_columns(Tape& tape, const Var& x_TD, int64_t begin, int64_t n);
Var concat_columns(Tape& tape, const std::vector<Var>& parts);
Var activate(Tape& tape, kernels::Activation a, const Var& x_TD);
Var gated(Tape& tape, kernels::Activation a, const Var& gate_up_T2F);
Var sum(Tape& tape, const Var& x);  // one element

// Norms and softmax (norm.cc)
Var rms_norm(Tape& tape, const Var& x_TD, Parameter& w_D, double eps);
Var layer_norm(Tape& tape, const Var& x_TD, Parameter& w_D, Parameter& b_D, double eps);
Var softmax(Tape& tape, const Var& x_TD);
Var l2_norm(Tape& tape, const Var& x_THd, Parameter* temperature_H, double scale, double eps);

// Position (rope.cc). x [T, H, d]; the first 2·inv_freq.size() dims turn.
Var rope(Tape& tape, const Var& x_THd, std::span<const int32_t> positions, std::span<const double> inv_freq,
         kernels::RopePairing pairing = kernels::RopePairing::half);

// Embedding and head (head.cc)
Var embedding(Tape& tape, Parameter& table_VD, std::span<const int32_t> ids);
Var head_logits(Tape& tape, const Var& h_TD, Parameter& w_VD);
// Mean cross-entropy over targets ≥ 0, weighted; logits exist a chunk of tokens at a time.
Var head_loss(Tape& tape, const Var& h_TD, Parameter& w_VD, std::span<const int32_t> targets,
              std::span<const double> weights);

Var reshape(Tape& tape, const Var& x, Shape shape);

}  // namespace quern
