// Gated DeltaNet layer (arXiv 2412.06464); each part is optional:
//   [q ‖ k ‖ v] = x·Wᵀ, through a short convolution with SiLU (taps > 0), k through a key shift (key_shift)
//   q, k = unit vectors per head;  β = σ(x·Wbᵀ);  g = −e^{A_log}·softplus(x·Waᵀ + dt_bias) (decay)
//   y = RMSNorm_head(FastWeights(q, k, v; g, β)) ⊙ SiLU(x·Wgᵀ) (gate) · Woᵀ
// With β only it is the delta rule. fast_weights.h has the recurrence. State: S [H, d, d] f32, the convolution's last
// rows, the shift's last key. Cost: 4·H·d² multiply-adds per token.
#pragma once
#include "quern/mixers/mixer.h"
#include "quern/nn/linear.h"

namespace quern::mixers {

struct GatedDeltaConfig {
  int64_t width = 0, n_head = 0, head_dim = 0, taps = 4;
  bool decay = true, gate = true, key_shift = false;
  double norm_eps = 1e-5;
  template <class V>
  void visit(V& v) {
    v("width", width, "width of the residual stream");
    v("n_head", n_head, "number of heads");
    v("head_dim", head_dim, "size of a head; its memory is a square matrix of that size");
    v("taps", taps, "taps of the short convolution; 0 is none");
    v("decay", decay, "the memory decays at a rate that depends on the token");
    v("gate", gate, "gate the outputs");
    v("key_shift", key_shift, "keys that hold a learned share of the token before");
    v("norm_eps", norm_eps, "epsilon of the output norm");
  }
};

class GatedDeltaMixer : public Mixer {
 public:
  explicit GatedDeltaMixer(GatedDeltaConfig config);
  StateSpec state_spec(DType kv) const override;
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) override;

 private:
  GatedDeltaConfig c_;
  nn::LinearGroup qkv_;
  nn::Linear b_, a_, gate_, out_;
  grad::Parameter conv_w_, mu_, a_log_, dt_bias_, norm_w_;
};

}  // namespace quern::mixers
