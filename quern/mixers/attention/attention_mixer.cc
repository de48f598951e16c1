#include "quern/mixers/attention/attention_mixer.h"

#include <cmath>

#include "quern/base/config.h"
#include "quern/nn/ops.h"
#include "quern/nn/registry.h"

namespace quern {

AttentionMixer::AttentionMixer(AttentionConfig c)
    : c_(std::move(c)),
      q_(c_.n_head * c_.head_dim, c_.width, c_.qkv_bias),
      k_(c_.n_head_kv * c_.head_dim, c_.width, c_.qkv_bias),
      v_(c_.n_head_kv * c_.head_dim, c_.width, c_.qkv_bias),
      o_(c_.width, c_.n_head * c_.head_dim, c_.o_bias) {
  check_heads("attention", c_.width, c_.n_head, c_.n_head_kv, c_.head_dim, c_.rotary_dims);
  if (c_.rotary_dims > 0) inv_freq_ = c_.rope.frequencies(c_.rotary_dims);
  if (c_.qk_norm) q_norm_ = k_norm_ = Parameter({c_.head_dim}, Init::constant(1));
}

void AttentionMixer::visit(const std::string& prefix, const ParameterVisitor& v) {
  q_.visit(prefix + "q_proj", v);
  k_.visit(prefix + "k_proj", v);
  v_.visit(prefix + "v_proj", v);
  if (c_.qk_norm) v(prefix + "q_norm.weight", q_norm_), v(prefix + "k_norm.weight", k_norm_);
  o_.visit(prefix + "o_proj", v);
}

void AttentionMixer::pack(const WeightPrepacking& t) {
  for (Linear* l : {&q_, &k_, &v_, &o_}) l->pack(t);
  bf16_ = t.rows() == DType::bf16;
}

Var AttentionMixer::forward(Tape& tape, const Var& x_TD, const Batch& batch, int site) {
  int64_t T = x_TD.dim(0), d = c_.head_dim;
  auto heads = [&](const Var& x, int64_t n) { return reshape(tape, x, {T, n, d}); };
  auto normed = [&](const Var& x_THd, Parameter& w) {
    return c_.qk_norm ? reshape(tape, rms_norm(tape, reshape(tape, x_THd, {-1, d}), w, c_.qk_norm_eps), {T, -1, d})
                      : x_THd;
  };
  Var q_THd = normed(heads(linear(tape, x_TD, q_), c_.n_head), q_norm_);
  Var k_THd = normed(heads(linear(tape, x_TD, k_), c_.n_head_kv), k_norm_);
  Var v_THd = heads(linear(tape, x_TD, v_), c_.n_head_kv);
  q_THd = rope(tape, q_THd, batch.positions, inv_freq_, c_.rope.pairing);
  k_THd = rope(tape, k_THd, batch.positions, inv_freq_, c_.rope.pairing);
  AttendOptions o{.scale = 1 / std::sqrt(static_cast<double>(d)), .window = c_.window, .bf16_math = bf16_};
  return linear(tape,
                reshape(tape, attend(tape, {.q_THd = q_THd, .k_THd = k_THd, .v_THd = v_THd}, batch, site, o),
                        {T, c_.n_head * d}),
                o_);
}

namespace mixers {
void register_attention(Registry& r) {
  r.mixers.add("attention", [](const Json& j) -> std::unique_ptr<Mixer> {
    AttentionConfig c;
    from_json(j, c, "mixer attention", true);
    return std::make_unique<AttentionMixer>(c);
  });
}
}  // namespace mixers

}  // namespace quern
