// Softmax attention: MHA, GQA and MQA by the number of key/value heads; rotary positions; optional sliding window,
// projection biases and per-head RMS norm of queries and keys (Qwen3).
//   q = x·Wqᵀ, k = x·Wkᵀ, v = x·Wvᵀ;  o = softmax(scale·q·kᵀ)·v;  y = o·Woᵀ;  scale 1/√d unless another is given
// Cost per token: (2·Hq + 2·Hkv)·d·D multiply-adds for the projections and 2·Hq·d per key seen.
#pragma once
#include <optional>

#include "quern/mixers/ranks/attend.h"
#include "quern/nn/linear.h"

namespace quern::mixers {

struct AttentionConfig {
  int64_t width = 0, n_head = 0, n_head_kv = 0, head_dim = 0;
  int64_t rotary_dims = 0;  // 0 = no positions
  RopeConfig rope;
  int64_t window = 0;
  std::optional<double> scale;
  double key_scale = 1;
  bool qkv_bias = false, o_bias = false, qk_norm = false;
  double qk_norm_eps = 1e-6;
  template <class V>
  void visit(V& v) {
    v("width", width, "width of the residual stream");
    v("n_head", n_head, "query heads");
    v("n_head_kv", n_head_kv, "key/value heads");
    v("head_dim", head_dim, "size of a head");
    v("rotary_dims", rotary_dims, "dimensions of a head with rotary position embedding; 0 is none");
    v("rope_theta", rope.theta, "base of the rotary frequencies");
    v("window", window, "keys a query attends to, itself included; 0 is all");
    v("scale", scale, "factor of the scores (1/√head_dim if absent)");
    v("key_scale", key_scale, "factor of the keys before their rotation");
    v("qkv_bias", qkv_bias, "biases of the q, k, v projections");
    v("o_bias", o_bias, "bias of the output projection");
    v("qk_norm", qk_norm, "RMS norm of each query and key head");
  }
};

class AttentionMixer : public Mixer {
 public:
  explicit AttentionMixer(AttentionConfig config);
  StateSpec state_spec(DType kv) const override { return {kv_parts(c_.n_head_kv, c_.head_dim, c_.window, kv)}; }
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) override;

 private:
  AttentionConfig c_;
  std::vector<double> inv_freq_;
  nn::Linear q_, k_, v_, o_;
  grad::Parameter q_norm_, k_norm_;
  bool bf16_ = false;
};

}  // namespace quern::mixers
