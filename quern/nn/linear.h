// Linear: y = x·Wᵀ (+ b), W [N, K].  gx = gy·W,  gW += gyᵀ·x,  gb += Σ_t gy. On a bf16 tape the three matrix
// multiplications round their operands, except for small matrices such as a router's. With prepacked weights it
// multiplies in their type, accumulates in f32, and does not learn (frozen_linear.h); a low-rank path beside them may.
#pragma once
#include <string>
#include <vector>

#include "quern/nn/module.h"

namespace quern::nn {

enum class Bias : bool { no, yes };

class Linear : public Module {
 public:
  Linear(int64_t n, int64_t k, Bias with_bias, grad::Init init = grad::Init::normal());
  void visit(const std::string& prefix, const ParameterVisitor& v) override;  // prefix + ".weight", ".bias"
  void pack(const WeightPrepacking& t) override;                              // the plain weight is let go

  grad::Parameter weight, bias;  // bias.defined() only when there is one
  kernels::PrepackedWeight packed;
  LowRank low_rank;  // of an adapter, beside the packed matrix
  std::string name;  // of the weight, as visited last
};

// Linears that read the same input. Packed they are one product; on a tape one operation, so that gx is summed in
// place and outputs that belong together are written side by side.
class LinearGroup {
 public:
  explicit LinearGroup(std::vector<Linear> parts) : parts_(std::move(parts)) {}
  Linear& part(size_t i) { return parts_[i]; }
  void pack(const WeightPrepacking& t);
  bool packed() const { return packed_.defined(); }
  // outputs: how many neighboring parts make up each output. {2, 1} of parts a, b, c: [a ‖ b] and c. Packed outputs
  // are windows of one buffer: rows strided unless there is only one.
  std::vector<grad::Var> forward(grad::Tape& tape, const grad::Var& x_TK, const std::vector<int>& outputs);

 private:
  std::vector<grad::Var> forward_packed(grad::Tape& tape, const grad::Var& x_TK, const std::vector<int>& outputs,
                                        const std::vector<int64_t>& widths) const;
  std::vector<Linear> parts_;
  kernels::PrepackedWeight packed_;
  Tensor packed_bias_;
};

grad::Var linear(grad::Tape& tape, const grad::Var& x_TK, Linear& l);
grad::Var linear(grad::Tape& tape, const grad::Var& x_TK, const grad::Var& w_NK,
                 grad::Precision precision = grad::Precision::f32);  // any two values on a tape

}  // namespace quern::nn
