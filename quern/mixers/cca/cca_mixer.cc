#include "quern/mixers/cca/cca_mixer.h"

#include <cmath>

#include "quern/base/config.h"
#include "quern/mixers/cca/latent.h"
#include "quern/nn/dispatch.h"
#include "quern/nn/ops.h"
#include "quern/nn/registry.h"

namespace quern {

CcaMixer::CcaMixer(CcaConfig c)
    : c_(std::move(c)),
      q_(c_.q_width(), c_.width, false),
      k_(c_.kv_width(), c_.width, false),
      v_now_(c_.value_delay ? c_.kv_width() / 2 : c_.kv_width(), c_.width, false),
      v_late_(c_.kv_width() - c_.kv_width() / 2, c_.width, false),
      o_(c_.width, c_.q_width(), false) {
  if (c_.n_head < 1 || c_.n_head_kv < 1 || c_.n_head % c_.n_head_kv) fail("cca: n_head {} is not a multiple of n_head_kv {}", c_.n_head, c_.n_head_kv);
  if (c_.rotary_dims % 2 || c_.rotary_dims > c_.head_dim) fail("cca: rotary_dims {} is odd or larger than head_dim {}", c_.rotary_dims, c_.head_dim);
  if (c_.time0 < 0 || c_.time1 < 0) fail("cca: time0 {} and time1 {} must be 0 or more", c_.time0, c_.time1);
  if (c_.rotary_dims > 0) inv_freq_ = c_.rope.frequencies(c_.rotary_dims);
  int64_t C = c_.channels();
  if (c_.time0 > 0) dw_w_ = Parameter({C, 1, c_.time0}, Init::normal()), dw_b_ = Parameter({C}, Init::constant(0));
  if (c_.time1 > 0) gc_w_ = Parameter({C, c_.head_dim, c_.time1}, Init::normal()), gc_b_ = Parameter({C}, Init::constant(0));
  temp_ = Parameter({c_.n_head_kv}, Init::constant(c_.temperature == CcaConfig::Temperature::linear ? 1 : 0));
}

StateSpec CcaMixer::state_spec(DType kv) const {
  StateSpec s{kv_parts(c_.n_head_kv, c_.head_dim, c_.window, kv)};
  s.parts.push_back({.name = "conv", .shape = {c_.history(), c_.channels()}});
  if (c_.value_delay) s.parts.push_back({.name = "value", .shape = {c_.kv_width() - c_.kv_width() / 2}});
  return s;
}

void CcaMixer::visit(const std::string& prefix, const ParameterVisitor& v) {
  std::string p = prefix + "qkv_proj.";
  q_.visit(p + "q_proj", v);
  k_.visit(p + "k_proj", v);
  v_now_.visit(p + (c_.value_delay ? "v_proj_current" : "v_proj"), v);
  if (c_.value_delay) v_late_.visit(p + "v_proj_delayed", v);
  if (c_.time0 > 0) v(p + "conv_qk_depthwise.weight", dw_w_), v(p + "conv_qk_depthwise.bias", dw_b_);
  if (c_.time1 > 0) v(p + "conv_qk_grouped.weight", gc_w_), v(p + "conv_qk_grouped.bias", gc_b_);
  v(prefix + "qk_norm.temp", temp_);
  o_.visit(prefix + "o_proj", v);
}

void CcaMixer::pack(DType t) {
  if (t == DType::f64) return;
  std::vector<Linear*> parts = {&q_, &k_, &v_now_};
  if (c_.value_delay) parts.push_back(&v_late_);
  int64_t rows = 0;
  for (Linear* l : parts) rows += l->weight.shape[0];
  Tensor all = Tensor::empty({rows, c_.width}, q_.weight.value.dtype());
  for (int64_t at = 0; Linear* l : parts) {
    all.narrow(0, at, l->weight.shape[0]).copy_from(l->weight.value);
    at += l->weight.shape[0];
    l->weight.value = Tensor();
  }
  packed_ = kernels::PackedLinear::pack(all, t);
  o_.pack(t);
  bf16_ = t == DType::bf16;
}

std::vector<Var> CcaMixer::project(Tape& tape, const Var& x_TD) {
  if (!tape.recording() && packed_.defined()) {
    Tensor y = Tensor::empty({x_TD.dim(0), packed_.n()}, DType::f32);
    Arena& scratch = thread_arena();
    Arena::Scope scope(scratch);
    packed_.apply(x_TD.value.view<const float, 2>(), {}, y.view<float, 2>(), scratch);
    int64_t C = c_.channels(), now = v_now_.weight.shape[0];
    std::vector<Var> out = {Var(y.narrow(1, 0, C).clone()), Var(y.narrow(1, C, now))};
    if (c_.value_delay) out.push_back(Var(y.narrow(1, C + now, c_.kv_width() - now)));
    return out;
  }
  std::vector<Var> out = {concat_columns(tape, {linear(tape, x_TD, q_), linear(tape, x_TD, k_)}), linear(tape, x_TD, v_now_)};
  if (c_.value_delay) out.push_back(linear(tape, x_TD, v_late_));
  return out;
}

// [current ‖ delayed by one token], the first token of a fresh segment getting zeros.
Var CcaMixer::values(Tape& tape, const Var& now_TV, const Var& late_TV, const Batch& b, int site) {
  int64_t T = now_TV.dim(0), n = now_TV.dim(1), m = late_TV.dim(1);
  Tensor v = Tensor::empty({T, n + m}, now_TV.dtype());
  v.narrow(1, 0, n).copy_from(now_TV.value);
  Tensor shifted = v.narrow(1, n, m);
  for (int64_t s = 0; s < b.segments(); ++s) {
    int64_t begin = b.offsets[s], len = b.offsets[s + 1] - begin;
    if (len == 0) continue;
    Tensor first = Tensor::zeros({1, m}, v.dtype());
    if (!b.states.empty()) {
      Tensor& tail = b.states[s]->fixed(site, kValueTail);
      first = tail.reshape({1, m}).to(v.dtype()).clone();
      tail.reshape({1, m}).copy_from(late_TV.value.narrow(0, begin + len - 1, 1));
    }
    shifted.narrow(0, begin, 1).copy_from(first);
    shifted.narrow(0, begin + 1, len - 1).copy_from(late_TV.value.narrow(0, begin, len - 1));
  }
  return tape.record(v, {now_TV, late_TV}, [n, m, offsets = b.offsets](Grads& g) {
    const Tensor& gv = g.out();
    if (g.wants(0)) g.add(0, gv.narrow(1, 0, n).clone());
    if (!g.wants(1)) return;
    Tensor late = Tensor::zeros({gv.dim(0), m}, gv.dtype());
    for (size_t s = 0; s + 1 < offsets.size(); ++s)
      if (int64_t len = offsets[s + 1] - offsets[s]; len > 1)  // the last token's delayed value is never read
        late.narrow(0, offsets[s], len - 1).copy_from(gv.narrow(1, n, m).narrow(0, offsets[s] + 1, len - 1));
    g.add(1, late);
  });
}

Var CcaMixer::forward(Tape& tape, const Var& x_TD, const Batch& batch, int site) {
  int64_t T = x_TD.dim(0), d = c_.head_dim;
  std::vector<Var> p = project(tape, x_TD);
  std::vector<Tensor*> tails;
  for (SequenceState* s : batch.states) tails.push_back(&s->fixed(site, kConvTail));
  auto present = [](Parameter& x) { return x.defined() ? &x : nullptr; };
  std::vector<Var> qk = latent_qk(tape, c_, p[0], {present(dw_w_), present(dw_b_), present(gc_w_), present(gc_b_), &temp_}, batch, inv_freq_, tails);
  Var v_THd = reshape(tape, c_.value_delay ? values(tape, p[1], p[2], batch, site) : p[1], {T, c_.n_head_kv, d});
  AttendOptions o{.scale = 1 / std::sqrt(static_cast<double>(d)), .window = c_.window, .bf16_math = bf16_};
  return linear(tape, reshape(tape, attend(tape, qk[0], qk[1], v_THd, batch, site, o), {T, c_.q_width()}), o_);
}

namespace mixers {
void register_cca(Registry& r) {
  r.mixers.add("cca", [](const Json& j) -> std::unique_ptr<Mixer> {
    CcaConfig c;
    Json rest = j;
    if (const Json* t = j.find("temperature")) {
      std::string form = t->as_string("mixer cca, temperature");
      if (form != "linear" && form != "exponential") fail("mixer cca, temperature: '{}', expected linear or exponential", form);
      if (form == "exponential") c.temperature = CcaConfig::Temperature::exponential;
      rest.erase("temperature");
    }
    from_json(rest, c, "mixer cca", true);
    return std::make_unique<CcaMixer>(c);
  });
}
}  // namespace mixers

}  // namespace quern
