// ZAYA's residual merge and input affine. The bias sits inside the bracket:
//   merge:  y = (o + hb)·hs + (r + rb)·rs        affine: y = (x + b)·s          all vectors [D], rows [T, D]
// Backward: go = gy·hs, ghb = Σ gy·hs, ghs = Σ gy·(o + hb), and the same for the residual branch.
#pragma once
#include <string>

#include "quern/nn/module.h"

namespace quern::nn {

struct ResidualScale : Module {
  explicit ResidualScale(int64_t width);
  void visit(const std::string& prefix, const ParameterVisitor& v) override;
  grad::Parameter hidden_scale, hidden_bias, residual_scale, residual_bias;
};

grad::Var residual_merge(grad::Tape& tape, const grad::Var& o_TD, const grad::Var& r_TD, ResidualScale& s);
grad::Var affine_in(grad::Tape& tape, const grad::Var& x_TD, grad::Parameter& scale_D, grad::Parameter& bias_D);

}  // namespace quern::nn
