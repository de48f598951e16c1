#include "quern/mixers/gated_delta/gated_delta_mixer.h"

#include <cmath>

#include "quern/base/config.h"
#include "quern/kernels/ssm/causal_conv.h"
#include "quern/mixers/gated_delta/memory_heads.h"
#include "quern/mixers/gated_delta/short_conv.h"
#include "quern/mixers/key_shift.h"
#include "quern/mixers/ranks/attend.h"
#include "quern/mixers/ssm_init.h"
#include "quern/nn/ops.h"
#include "quern/nn/registry.h"

namespace quern::mixers {
namespace {

constexpr double kUnitEps = 1e-5;

GatedDeltaConfig checked(GatedDeltaConfig c) {
  check_heads("gated_delta", c.width, c.n_head, c.n_head, c.head_dim, 0);
  if (c.taps < 0 || c.taps > kernels::kConvTaps)
    fail("gated_delta: taps {} is outside 0 … {}", c.taps, kernels::kConvTaps);
  return c;
}

}  // namespace

GatedDeltaMixer::GatedDeltaMixer(GatedDeltaConfig c)
    : c_(checked(c)),
      qkv_([this] {
        std::vector<nn::Linear> l;
        for (int i = 0; i < 3; ++i) l.emplace_back(c_.n_head * c_.head_dim, c_.width, nn::Bias::no);
        return l;
      }()),
      b_(c_.n_head, c_.width, nn::Bias::no),
      a_(c_.n_head, c_.width, nn::Bias::no),
      gate_(c_.n_head * c_.head_dim, c_.width, nn::Bias::no),
      out_(c_.width, c_.n_head * c_.head_dim, nn::Bias::no),
      norm_w_({c_.head_dim}, grad::Init::constant(1)) {
  const int64_t I = c_.n_head * c_.head_dim;
  if (c_.taps > 0)
    conv_w_ = grad::Parameter({3 * I, 1, c_.taps}, grad::Init::normal(0.5 / std::sqrt(static_cast<double>(c_.taps))));
  if (c_.key_shift) mu_ = grad::Parameter({I}, grad::Init::constant(0));
  if (c_.decay) {
    a_log_ = grad::Parameter({c_.n_head}, grad::Init::drawn(ssm_log_decay));
    dt_bias_ = grad::Parameter({c_.n_head}, grad::Init::drawn(ssm_step_bias));
  }
}

StateSpec GatedDeltaMixer::state_spec(DType kv) const {
  const int64_t I = c_.n_head * c_.head_dim;
  StateSpec s{{memory_part(c_.n_head, c_.head_dim, kv)}};
  if (c_.taps > 0) s.parts.push_back(short_conv_part(c_.taps, 3 * I, kv));
  if (c_.key_shift) s.parts.push_back(key_shift_part(I, kv));
  return s;
}

void GatedDeltaMixer::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  const char* names[] = {"q_proj", "k_proj", "v_proj"};
  for (size_t i = 0; i < 3; ++i) qkv_.part(i).visit(prefix + names[i], v);
  if (c_.taps > 0) v(prefix + "conv1d.weight", conv_w_);
  if (c_.key_shift) v(prefix + "key_shift", mu_);
  b_.visit(prefix + "b_proj", v);
  if (c_.decay) {
    a_.visit(prefix + "a_proj", v);
    v(prefix + "A_log", a_log_);
    v(prefix + "dt_bias", dt_bias_);
  }
  if (c_.gate) gate_.visit(prefix + "g_proj", v);
  v(prefix + "o_norm.weight", norm_w_);
  out_.visit(prefix + "o_proj", v);
}

void GatedDeltaMixer::pack(const nn::WeightPrepacking& t) {
  qkv_.pack(t);
  b_.pack(t);
  if (c_.decay) a_.pack(t);
  if (c_.gate) gate_.pack(t);
  out_.pack(t);
}

grad::Var GatedDeltaMixer::forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) {
  batch.placement.require_whole_segments("gated_delta");
  const int64_t T = x_TD.dim(0), H = c_.n_head, d = c_.head_dim, I = H * d;
  std::vector<grad::Var> p;
  if (c_.taps > 0) {
    const grad::Var qkv = qkv_.forward(tape, x_TD, {3})[0];
    const grad::Var mixed = short_conv(tape, qkv, conv_w_, batch, site);
    for (int64_t i = 0; i < 3; ++i) p.push_back(nn::slice_columns(tape, mixed, i * I, I));
  } else {
    p = qkv_.forward(tape, x_TD, {1, 1, 1});
  }
  if (c_.key_shift) p[1] = key_shift(tape, p[1], mu_, batch, site);
  auto heads = [&](const grad::Var& x) { return nn::reshape(tape, x, {T, H, d}); };
  const grad::Var q = nn::l2_norm(tape, heads(p[0]), nullptr, 1, kUnitEps),
                  k = nn::l2_norm(tape, heads(p[1]), nullptr, 1, kUnitEps), b = nn::linear(tape, x_TD, b_),
                  a = c_.decay ? nn::linear(tape, x_TD, a_) : grad::Var();
  MemoryGates gates{.b = &b};
  if (c_.decay) gates.a = &a, gates.a_log = &a_log_, gates.dt_bias = &dt_bias_;
  grad::Var o = memory_heads(tape, {.q_THd = q, .k_THd = k, .v_THd = heads(p[2]), .gates = gates, .correct = true},
                             batch, site);
  o = nn::reshape(tape, nn::rms_norm(tape, nn::reshape(tape, o, {T * H, d}), norm_w_, c_.norm_eps), {T, I});
  if (c_.gate) o = nn::mul(tape, o, nn::activate(tape, kernels::Activation::silu, nn::linear(tape, x_TD, gate_)));
  return nn::linear(tape, o, out_);
}

void register_gated_delta(nn::Registry& r) {
  r.mixers.add("gated_delta", [](const Json& j) -> std::unique_ptr<Mixer> {
    GatedDeltaConfig c;
    from_json(j, c, "mixer gated_delta", UnknownKeys::refuse);
    return std::make_unique<GatedDeltaMixer>(c);
  });
}

}  // namespace quern::mixers
