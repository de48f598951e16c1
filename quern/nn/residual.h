// ZAYA's residual merge and input affine. The bias sits inside the bracket:
//   merge:  y = (o + hb)·hs + (r + rb)·rs        affine: y = (x + b)·s          all vectors [D], rows [T, D]
// Backward: go = gy·hs, ghb = Σ gy·hs, ghs = Σ gy·(o + hb), and the same for the residual branch.
#pragma once
#include <string>

#include "quern/nn/module.h"

namespace quern {

struct ResidualScale : Module {
  explicit ResidualScale(int64_t width);
  void visit(const std::string& prefix, const ParameterVisitor& v) override;
  Parameter hidden_scale, hidden_bias, residual_scale, residual_bias;
};

Var residual_merge(Tape& tape, const Var& o_TD, const Var& r_TD, ResidualScale& s);
Var affine_in(Tape& tape, const Var& x_TD, Parameter& scale_D, Parameter& bias_D);

}  // namespace quern
