// Compressed convolutional attention (arXiv 2510.04476), CCA and CCGQA in general form. Attention runs in a latent
// space of n_head·d queries and n_head_kv·d keys and values, whatever the width:
//   z = [x·Wqᵀ ‖ x·Wkᵀ];  c = grouped conv(depthwise conv(z)) over time, zero-padded once, in front of z
//   m = q/k mean of z;  q, k = √d·(c + m)/‖c + m‖ per head, keys times a temperature (linear T, or exp T)
//   rotary positions; v = [x·Wv1ᵀ ‖ the previous token's x·Wv2ᵀ];  y = softmax(q·kᵀ/√d)·v·Woᵀ
// Every projection may have a bias. That of x·Wv2ᵀ is added after the delay: the first token, which has none before
// it, gets the bias alone.
// State: the KV cache (k, v per token, with scales if int8); the last rows of z before the convolutions; the last
// token's x·Wv2ᵀ. Shapes: T tokens, D width, C = (n_head + n_head_kv)·d latent channels, P rows of convolution
// history.
#pragma once
#include "quern/kernels/cca/cca.h"
#include "quern/mixers/ranks/attend.h"
#include "quern/nn/linear.h"

namespace quern::mixers {

struct CcaConfig {
  enum class Temperature { linear, exponential };
  int64_t width = 0, n_head = 0, n_head_kv = 0, head_dim = 0;
  int64_t time0 = 2, time1 = 2;  // taps of the depthwise and the grouped convolution; 0 = without it
  int64_t rotary_dims = 0;
  RopeConfig rope;
  int64_t window = 0;
  bool value_delay = true, qk_mean = true, qkv_bias = false, o_bias = false;
  Temperature temperature = Temperature::linear;
  double l2_eps = 1.1920928955078125e-07;  // the f32 epsilon, as transformers clamps

  int64_t q_width() const { return n_head * head_dim; }
  int64_t kv_width() const { return n_head_kv * head_dim; }
  int64_t channels() const { return q_width() + kv_width(); }
  int64_t history() const { return std::max<int64_t>(time0 - 1, 0) + std::max<int64_t>(time1 - 1, 0); }
  template <class V>
  void visit(V& v) {
    v("width", width, "width of the residual stream");
    v("n_head", n_head, "latent query heads");
    v("n_head_kv", n_head_kv, "latent key/value heads");
    v("head_dim", head_dim, "size of a head");
    v("time0", time0, "taps of the depthwise convolution; 0 is none");
    v("time1", time1, "taps of the grouped convolution; 0 is none");
    v("rotary_dims", rotary_dims, "dimensions of a head with rotary position embedding; 0 is none");
    v("rope_theta", rope.theta, "base of the rotary frequencies");
    v("window", window, "keys a query attends to, itself included; 0 is all");
    v("value_delay", value_delay, "half of the values from the token before");
    v("qk_mean", qk_mean, "add the mean of queries and keys before the convolutions");
    v("qkv_bias", qkv_bias, "biases of the q, k, v projections");
    v("o_bias", o_bias, "bias of the output projection");
  }
};

class CcaMixer : public Mixer {
 public:
  explicit CcaMixer(CcaConfig config);
  StateSpec state_spec(DType kv) const override;
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) override;

 private:
  static constexpr const char *kConvTail = "conv", *kValueTail = "value";  // parts of the state beside k and v
  std::vector<grad::Var> queries_keys(grad::Tape& tape, const grad::Var& z_TC, const Batch& batch, int site);
  std::vector<grad::Var> queries_keys_packed(const Tensor& z_TC, const Batch& batch, int site);
  std::vector<grad::Var> queries_keys_values(grad::Tape& tape, const std::vector<grad::Var>& p, const Batch& batch,
                                             int site);
  grad::Var values(grad::Tape& tape, const grad::Var& now_TV, const grad::Var& late_TV, const Batch& batch, int site);
  Tensor values_packed(const Tensor& now_TV, const Tensor& late_TV, const Batch& b, int site);

  CcaConfig c_;
  std::vector<double> inv_freq_;
  nn::LinearGroup qkv_;  // q, k, v current, v delayed (q, k, v without delay)
  nn::Linear o_;
  grad::Parameter late_b_;  // bias of v delayed
  grad::Parameter dw_w_, dw_b_, gc_w_, gc_b_, temp_;
  kernels::CcaLatentWeights latent_;
  std::vector<Tensor> latent_tensors_;  // what latent_ looks into, in f32
  Tensor packed_late_b_;                // late_b_ in f32
  bool bf16_ = false;
};

}  // namespace quern::mixers
