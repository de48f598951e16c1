#include "quern/mixers/attention/attention_mixer.h"

#include <cmath>

#include "quern/base/config.h"
#include "quern/nn/ops.h"
#include "quern/nn/registry.h"

namespace quern::mixers {

AttentionMixer::AttentionMixer(AttentionConfig c)
    : c_(std::move(c)),
      q_(c_.n_head * c_.head_dim, c_.width, nn::Bias{c_.qkv_bias}),
      k_(c_.n_head_kv * c_.head_dim, c_.width, nn::Bias{c_.qkv_bias}),
      v_(c_.n_head_kv * c_.head_dim, c_.width, nn::Bias{c_.qkv_bias}),
      o_(c_.width, c_.n_head * c_.head_dim, nn::Bias{c_.o_bias}) {
  check_heads("attention", c_.width, c_.n_head, c_.n_head_kv, c_.head_dim, c_.rotary_dims);
  if (c_.rotary_dims > 0) inv_freq_ = c_.rope.frequencies(c_.rotary_dims);
  if (c_.qk_norm) q_norm_ = k_norm_ = grad::Parameter({c_.head_dim}, grad::Init::constant(1));
}

void AttentionMixer::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  q_.visit(prefix + "q_proj", v);
  k_.visit(prefix + "k_proj", v);
  v_.visit(prefix + "v_proj", v);
  if (c_.qk_norm) v(prefix + "q_norm.weight", q_norm_), v(prefix + "k_norm.weight", k_norm_);
  o_.visit(prefix + "o_proj", v);
}

void AttentionMixer::pack(const nn::WeightPrepacking& t) {
  for (nn::Linear* l : {&q_, &k_, &v_, &o_}) l->pack(t);
  bf16_ = t.rows() == DType::bf16;
}

grad::Var AttentionMixer::forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) {
  int64_t T = x_TD.dim(0), d = c_.head_dim;
  auto heads = [&](const grad::Var& x, int64_t n) { return nn::reshape(tape, x, {T, n, d}); };
  auto normed = [&](const grad::Var& x_THd, grad::Parameter& w) {
    return c_.qk_norm ? nn::reshape(tape, nn::rms_norm(tape, nn::reshape(tape, x_THd, {-1, d}), w, c_.qk_norm_eps),
                                    {T, -1, d})
                      : x_THd;
  };
  grad::Var q_THd = normed(heads(nn::linear(tape, x_TD, q_), c_.n_head), q_norm_);
  grad::Var k_THd = normed(heads(nn::linear(tape, x_TD, k_), c_.n_head_kv), k_norm_);
  if (c_.key_scale != 1) k_THd = nn::scale(tape, k_THd, c_.key_scale);
  grad::Var v_THd = heads(nn::linear(tape, x_TD, v_), c_.n_head_kv);
  const std::vector<double> stretch = c_.rope.stretch(c_.rotary_dims, batch);
  const kernels::RopeAngles angles{
      .positions = batch.positions, .inv_freq = inv_freq_, .magnitude = c_.rope.magnitude, .stretch = stretch};
  q_THd = nn::rope(tape, q_THd, angles, c_.rope.pairing);
  k_THd = nn::rope(tape, k_THd, angles, c_.rope.pairing);
  AttendOptions o{
      .scale = c_.scale.value_or(1 / std::sqrt(static_cast<double>(d))), .window = c_.window, .bf16_math = bf16_};
  return nn::linear(tape,
                    nn::reshape(tape, attend(tape, {.q_THd = q_THd, .k_THd = k_THd, .v_THd = v_THd}, batch, site, o),
                                {T, c_.n_head * d}),
                    o_);
}

void register_attention(nn::Registry& r) {
  r.mixers.add("attention", [](const Json& j) -> std::unique_ptr<Mixer> {
    AttentionConfig c;
    from_json(j, c, "mixer attention", UnknownKeys::refuse);
    return std::make_unique<AttentionMixer>(c);
  });
}

}  // namespace quern::mixers
