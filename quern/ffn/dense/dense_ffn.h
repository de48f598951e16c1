// Dense feed-forward: y = (act(x·Wgᵀ) ⊙ (x·Wuᵀ))·Wdᵀ gated (SwiGLU, GEGLU), or act(x·Wuᵀ)·Wdᵀ plain, where the
// activation may be squared (relu2).
// Cost per token: 3·D·F multiply-adds gated, 2·D·F plain.
#pragma once
#include "quern/ffn/ffn.h"
#include "quern/kernels/activation/activation.h"
#include "quern/nn/column_factors.h"
#include "quern/nn/linear.h"

namespace quern::ffn {

struct DenseConfig {
  int64_t width = 0, hidden = 0;
  kernels::Activation act = kernels::Activation::silu;
  bool gated = true, bias = false, squared = false;
  double gate_scale = 1, out_scale = 1;
  template <class V>
  void visit(V& v) {
    v("width", width, "width of the residual stream");
    v("hidden", hidden, "inner width");
    v("gated", gated, "gate and up projections (SwiGLU, GEGLU), or one");
    v("bias", bias, "add biases");
    v("squared", squared, "square the activation (with relu: relu2)");
    v("gate_scale", gate_scale, "factor of the gate before its activation");
    v("out_scale", out_scale, "factor of the output");
  }
};

// Names in a checkpoint. Without a name of its own the gate lies above `up`, in one matrix [gate ‖ up].
struct DenseNames {
  const char *gate = "gate_proj", *up = "up_proj", *down = "down_proj";
};

class DenseFfn : public Ffn {
 public:
  explicit DenseFfn(DenseConfig config, DenseNames names = {});
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry) override;

 private:
  DenseConfig c_;
  DenseNames names_;
  int parts_;           // of in_
  nn::LinearGroup in_;  // gate and up, or one matrix
  nn::Linear down_;
  nn::ColumnFactors factors_;  // of [gate ‖ up]
};

}  // namespace quern::ffn
