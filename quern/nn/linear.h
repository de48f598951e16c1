// Linear: y = x·Wᵀ (+ b), W [N, K].  gx = gy·W,  gW += gyᵀ·x,  gb += Σ_t gy.
// Packed for inference it multiplies in the packed type and accumulates in f32.
#pragma once
#include <string>

#include "quern/kernels/gemm/gemm.h"
#include "quern/nn/module.h"

namespace quern {

class Linear : public Module {
 public:
  Linear(int64_t n, int64_t k, bool with_bias, Init init = Init::normal());
  void visit(const std::string& prefix, const ParameterVisitor& v) override;  // prefix + ".weight", ".bias"
  void pack(DType t) override;                                                // the plain weight is let go

  Parameter weight, bias;  // bias.defined() only when there is one
  kernels::PackedLinear packed;
};

Var linear(Tape& tape, const Var& x_TK, Linear& l);
Var linear(Tape& tape, const Var& x_TK, const Var& w_NK);  // any two values on a tape

}  // namespace quern
