// Dense feed-forward: y = (act(x·Wgᵀ) ⊙ (x·Wuᵀ))·Wdᵀ gated (SwiGLU, GEGLU), or act(x·Wuᵀ)·Wdᵀ plain.
// Cost per token: 3·D·F multiply-adds gated, 2·D·F plain.
#pragma once
#include "quern/ffn/ffn.h"
#include "quern/kernels/activation/activation.h"
#include "quern/nn/linear.h"

namespace quern::ffn {

struct DenseConfig {
  int64_t width = 0, hidden = 0;
  kernels::Activation act = kernels::Activation::silu;
  bool gated = true, bias = false;
  template <class V>
  void visit(V& v) {
    v("width", width, "width of the residual stream");
    v("hidden", hidden, "inner width");
    v("gated", gated, "gate and up projections (SwiGLU, GEGLU), or one");
    v("bias", bias, "add biases");
  }
};

class DenseFfn : public Ffn {
 public:
  explicit DenseFfn(DenseConfig config);
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;  // gate_proj, up_proj, down_proj
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry) override;

 private:
  DenseConfig c_;
  nn::LinearGroup in_;  // gate and up, or up alone
  nn::Linear down_;
};

}  // namespace quern::ffn
