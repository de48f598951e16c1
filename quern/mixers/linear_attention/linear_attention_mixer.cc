#include "quern/mixers/linear_attention/linear_attention_mixer.h"

#include "quern/base/config.h"
#include "quern/mixers/gated_delta/memory_heads.h"
#include "quern/mixers/key_shift.h"
#include "quern/mixers/ranks/attend.h"
#include "quern/nn/ops.h"
#include "quern/nn/registry.h"

namespace quern::mixers {
namespace {

constexpr double kUnitEps = 1e-5;

LinearAttentionConfig checked(LinearAttentionConfig c) {
  check_heads("linear_attention", c.width, c.n_head, c.n_head, c.head_dim, 0);
  return c;
}

}  // namespace

LinearAttentionMixer::LinearAttentionMixer(LinearAttentionConfig c)
    : c_(checked(c)),
      qkv_([this] {
        std::vector<nn::Linear> l;
        for (int i = 0; i < 3; ++i) l.emplace_back(c_.n_head * c_.head_dim, c_.width, nn::Bias::no);
        return l;
      }()),
      out_(c_.width, c_.n_head * c_.head_dim, nn::Bias::no),
      norm_w_({c_.head_dim}, grad::Init::constant(1)) {
  if (c_.key_shift) mu_ = grad::Parameter({c_.n_head * c_.head_dim}, grad::Init::constant(0));
}

StateSpec LinearAttentionMixer::state_spec(DType kv) const {
  StateSpec s{{memory_part(c_.n_head, c_.head_dim, kv)}};
  if (c_.key_shift) s.parts.push_back(key_shift_part(c_.n_head * c_.head_dim, kv));
  return s;
}

void LinearAttentionMixer::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  const char* names[] = {"q_proj", "k_proj", "v_proj"};
  for (size_t i = 0; i < 3; ++i) qkv_.part(i).visit(prefix + names[i], v);
  if (c_.key_shift) v(prefix + "key_shift", mu_);
  v(prefix + "o_norm.weight", norm_w_);
  out_.visit(prefix + "o_proj", v);
}

void LinearAttentionMixer::pack(const nn::WeightPrepacking& t) {
  qkv_.pack(t);
  out_.pack(t);
}

grad::Var LinearAttentionMixer::forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) {
  batch.placement.require_whole_segments("linear_attention");
  const int64_t T = x_TD.dim(0), H = c_.n_head, d = c_.head_dim;
  std::vector<grad::Var> p = qkv_.forward(tape, x_TD, {1, 1, 1});
  if (c_.key_shift) p[1] = key_shift(tape, p[1], mu_, batch, site);
  auto heads = [&](const grad::Var& x) { return nn::reshape(tape, x, {T, H, d}); };
  auto direction = [&](const grad::Var& x) {
    return c_.unit ? nn::l2_norm(tape, heads(x), nullptr, 1, kUnitEps) : heads(x);
  };
  const grad::Var q = direction(p[0]), k = direction(p[1]);
  const grad::Var o = memory_heads(tape, {.q_THd = q, .k_THd = k, .v_THd = heads(p[2])}, batch, site);
  return nn::linear(
      tape, nn::reshape(tape, nn::rms_norm(tape, nn::reshape(tape, o, {T * H, d}), norm_w_, c_.norm_eps), {T, H * d}),
      out_);
}

void register_linear_attention(nn::Registry& r) {
  r.mixers.add("linear_attention", [](const Json& j) -> std::unique_ptr<Mixer> {
    LinearAttentionConfig c;
    from_json(j, c, "mixer linear_attention", UnknownKeys::refuse);
    return std::make_unique<LinearAttentionMixer>(c);
  });
}

}  // namespace quern::mixers
