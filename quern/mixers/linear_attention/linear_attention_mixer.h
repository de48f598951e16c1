// Linear attention layer: one matrix per head accumulates k_t v_tᵀ of every token, without decay,
//   o_t = RMSNorm_head((Σ_{s≤t} k_s v_sᵀ)ᵀ q_t),  y = o·Woᵀ
// q and k are unit vectors by default; k passes through a key shift on request. State: [H, d, d] f32 and the shift's
// last key. Cost: 2·H·d² multiply-adds per token.
#pragma once
#include "quern/mixers/mixer.h"
#include "quern/nn/linear.h"

namespace quern::mixers {

struct LinearAttentionConfig {
  int64_t width = 0, n_head = 0, head_dim = 0;
  bool key_shift = false, unit = true;
  double norm_eps = 1e-5;
  template <class V>
  void visit(V& v) {
    v("width", width, "width of the residual stream");
    v("n_head", n_head, "number of heads");
    v("head_dim", head_dim, "size of a head; its memory is a square matrix of that size");
    v("key_shift", key_shift, "keys that hold a learned share of the token before");
    v("unit", unit, "normalize queries and keys to unit length");
    v("norm_eps", norm_eps, "epsilon of the output norm");
  }
};

class LinearAttentionMixer : public Mixer {
 public:
  explicit LinearAttentionMixer(LinearAttentionConfig config);
  StateSpec state_spec(DType kv) const override;
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) override;

 private:
  LinearAttentionConfig c_;
  nn::LinearGroup qkv_;
  nn::Linear out_;
  grad::Parameter mu_, norm_w_;
};

}  // namespace quern::mixers
