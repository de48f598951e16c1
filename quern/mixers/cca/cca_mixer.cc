#include "quern/mixers/cca/cca_mixer.h"

#include <algorithm>
#include <cmath>

#include "quern/base/config.h"
#include "quern/base/threads.h"
#include "quern/mixers/cca/latent.h"
#include "quern/mixers/ranks/prompt_shards.h"
#include "quern/nn/dispatch.h"
#include "quern/nn/ops.h"
#include "quern/nn/registry.h"
#include "quern/nn/rows.h"
#include "quern/trace/op_counters.h"
#include "quern/trace/trace.h"

namespace quern::mixers {
namespace {

constexpr int64_t kRowsAPart = 64;

// tail ← the last rows of [tail ‖ rows begin … end of z].
void roll(const View<float, 2>& tail, const View<const float, 2>& z, int64_t begin, int64_t end) {
  const int64_t P = tail.shape[0], C = tail.shape[1], n = end - begin;
  if (n == 0) return;
  for (int64_t r = 0; r < P; ++r) {
    const float* from = r + n < P ? tail.row(r + n) : z.row(end - (P - r));
    std::copy_n(from, C, tail.row(r));
  }
}

template <class T>
void add_to_rows(const Tensor& bias, const View<T, 2>& y) {
  const T* b = bias.data<T>();
  for (int64_t t = 0; t < y.shape[0]; ++t)
    for (int64_t i = 0; i < y.shape[1]; ++i) y.row(t)[i] += b[i];
}

std::vector<nn::Linear> projections(const CcaConfig& c) {
  int64_t late = c.value_delay ? c.kv_width() - c.kv_width() / 2 : 0;
  const nn::Bias bias{c.qkv_bias};
  std::vector<nn::Linear> p = {
      {c.q_width(), c.width, bias}, {c.kv_width(), c.width, bias}, {c.kv_width() - late, c.width, bias}};
  if (c.value_delay) p.emplace_back(late, c.width, nn::Bias::no);
  return p;
}

}  // namespace

CcaMixer::CcaMixer(CcaConfig c)
    : c_(std::move(c)), qkv_(projections(c_)), o_(c_.width, c_.q_width(), nn::Bias{c_.o_bias}) {
  check_heads("cca", c_.width, c_.n_head, c_.n_head_kv, c_.head_dim, c_.rotary_dims);
  if (c_.time0 < 0 || c_.time1 < 0) fail("cca: time0 {} and time1 {} must be 0 or more", c_.time0, c_.time1);
  if (c_.value_delay && c_.kv_width() < 2)
    fail("cca: value_delay splits the value channels in two, but there is only one");
  QUERN_CHECK(c_.rope.magnitude == 1 && !c_.rope.dynamic, "cca: rotary scaling is not supported");
  if (c_.rotary_dims > 0) inv_freq_ = c_.rope.frequencies(c_.rotary_dims);
  if (c_.value_delay && c_.qkv_bias)
    late_b_ = grad::Parameter({qkv_.part(3).weight.shape[0]}, grad::Init::constant(0));
  int64_t C = c_.channels();
  if (c_.time0 > 0)
    dw_w_ = grad::Parameter({C, 1, c_.time0}, grad::Init::normal()),
    dw_b_ = grad::Parameter({C}, grad::Init::constant(0));
  if (c_.time1 > 0)
    gc_w_ = grad::Parameter({C, c_.head_dim, c_.time1}, grad::Init::normal()),
    gc_b_ = grad::Parameter({C}, grad::Init::constant(0));
  temp_ =
      grad::Parameter({c_.n_head_kv}, grad::Init::constant(c_.temperature == CcaConfig::Temperature::linear ? 1 : 0));
}

StateSpec CcaMixer::state_spec(DType kv) const {
  StateSpec s{kv_parts(c_.n_head_kv, c_.head_dim, c_.window, kv)};
  const bool over_ranks = c_.history() <= PromptShards::kMinRowsOfChunk;
  std::vector<StatePart> tails = {{.name = kConvTail,
                                   .shape = {c_.history(), c_.channels()},
                                   .snapshots_inside = true,
                                   .over_ranks = over_ranks}};
  if (c_.value_delay)
    tails.push_back({.name = kValueTail,
                     .shape = {c_.kv_width() - c_.kv_width() / 2},
                     .snapshots_inside = true,
                     .over_ranks = over_ranks});
  s.parts.insert(s.parts.begin() + 2, tails.begin(), tails.end());
  return s;
}

void CcaMixer::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  std::string p = prefix + "qkv_proj.";
  qkv_.part(0).visit(p + "q_proj", v);
  qkv_.part(1).visit(p + "k_proj", v);
  qkv_.part(2).visit(p + (c_.value_delay ? "v_proj_current" : "v_proj"), v);
  if (c_.value_delay) qkv_.part(3).visit(p + "v_proj_delayed", v);
  if (late_b_.defined()) v(p + "v_proj_delayed.bias", late_b_);
  if (c_.time0 > 0) v(p + "conv_qk_depthwise.weight", dw_w_), v(p + "conv_qk_depthwise.bias", dw_b_);
  if (c_.time1 > 0) v(p + "conv_qk_grouped.weight", gc_w_), v(p + "conv_qk_grouped.bias", gc_b_);
  v(prefix + "qk_norm.temp", temp_);
  o_.visit(prefix + "o_proj", v);
}

void CcaMixer::pack(const nn::WeightPrepacking& t) {
  if (!t.packs()) return;
  qkv_.pack(t);
  o_.pack(t);
  bf16_ = t.rows() == DType::bf16;
  latent_tensors_.clear();

  auto kept = [&](const Tensor& x, Shape shape) {  // convolutions and temperature stay in f32
    latent_tensors_.push_back(x.to(DType::f32).reshape(std::move(shape)));
    return latent_tensors_.back();
  };
  if (late_b_.defined()) packed_late_b_ = late_b_.value.to(DType::f32);
  int64_t C = c_.channels();
  if (c_.time0 > 0) {
    latent_.depthwise = kept(dw_w_.value, {C, c_.time0}).view<const float, 2>();
    latent_.depthwise_bias = kept(dw_b_.value, {C}).view<const float, 1>();
  }
  if (c_.time1 > 0) {
    latent_.grouped = kernels::cca_pack_grouped(gc_w_.value.to(DType::f32).view<const float, 3>());
    latent_.grouped_bias = kept(gc_b_.value, {C}).view<const float, 1>();
  }
  latent_.temperature =
      kept(effective_temperature(c_, temp_.value.to(DType::f32)), {c_.n_head_kv}).view<const float, 1>();
}

std::vector<grad::Var> CcaMixer::queries_keys(grad::Tape& tape, const grad::Var& z_TC, const Batch& batch, int site) {
  if (!tape.recording() && qkv_.packed()) return queries_keys_packed(z_TC.value, batch, site);
  std::vector<Tensor*> tails;
  for (SequenceState* s : batch.states) tails.push_back(&s->fixed(site, kConvTail));
  auto present = [](grad::Parameter& x) { return x.defined() ? &x : nullptr; };
  return latent_qk(tape, c_, {.z_TC = z_TC, .inv_freq = inv_freq_, .tails = tails},
                   {present(dw_w_), present(dw_b_), present(gc_w_), present(gc_b_), &temp_}, batch);
}

std::vector<grad::Var> CcaMixer::queries_keys_packed(const Tensor& z_TC, const Batch& batch, int site) {
  int64_t T = z_TC.dim(0), d = c_.head_dim;
  Tensor q_THd = Tensor::empty({T, c_.n_head, d}, DType::f32),
         k_THd = Tensor::empty({T, c_.n_head_kv, d}, DType::f32), cos, sin;
  kernels::CcaLatent a;
  a.z = z_TC.view<const float, 2>(), a.offsets = batch.offsets;
  a.q = q_THd.view<float, 3>(), a.k = k_THd.view<float, 3>();
  if (!inv_freq_.empty()) {
    cos = Tensor::empty({T, c_.rotary_dims / 2}, DType::f32), sin = Tensor::empty(cos.shape(), DType::f32);
    kernels::rope_table<float>(batch.positions, inv_freq_, cos.view<float, 2>(), sin.view<float, 2>());
    a.cos = cos.view<const float, 2>(), a.sin = sin.view<const float, 2>();
  }
  for (SequenceState* s : batch.states) a.history.push_back(s->fixed(site, kConvTail).view<const float, 2>());
  kernels::cca_latent({.n_head = c_.n_head,
                       .n_head_kv = c_.n_head_kv,
                       .head_dim = d,
                       .qk_mean = c_.qk_mean,
                       .scale = std::sqrt(static_cast<double>(d)),
                       .l2_eps = c_.l2_eps,
                       .pairing = c_.rope.pairing},
                      latent_, a);
  int64_t taps = c_.channels() * c_.head_dim * c_.time1;
  trace::count_matmul(T, taps, taps * dtype_size(DType::f32));
  for (size_t s = 0; s < batch.states.size(); ++s)
    roll(batch.states[s]->fixed(site, kConvTail).view<float, 2>(), a.z, batch.offsets[s], batch.offsets[s + 1]);
  return {grad::Var(q_THd), grad::Var(k_THd)};
}

// [current ‖ delayed by one token + its bias], the first token of a fresh segment getting zeros, and the bias.
grad::Var CcaMixer::values(grad::Tape& tape, const grad::Var& now_TV, const grad::Var& late_TV, const Batch& b,
                           int site) {
  if (!tape.recording() && qkv_.packed() && !b.states.empty())
    return values_packed(now_TV.value, late_TV.value, b, site);
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
  std::vector<grad::Var> in = {now_TV, late_TV};
  const bool biased = late_b_.defined();
  if (biased) in.push_back(tape.param(late_b_));
  nn::with_float(v.dtype(), [&]<class T>() {
    if (biased) add_to_rows<T>(in[2].value.to(v.dtype()), shifted.view<T, 2>());
  });
  return tape.record(v, in, [n, m, biased, offsets = b.offsets](grad::Grads& g) {
    const Tensor& gv = g.out();
    if (g.wants(0)) g.add(0, gv.narrow(1, 0, n).clone());
    if (biased && g.wants(2))
      nn::with_float(gv.dtype(), [&]<class T>() {
        nn::add_column_sums<T>(gv.narrow(1, n, m).view<const T, 2>(), {}, g.accumulator(2).view<T, 1>());
      });
    if (!g.wants(1)) return;
    Tensor late = Tensor::zeros({gv.dim(0), m}, gv.dtype());
    for (size_t s = 0; s + 1 < offsets.size(); ++s)
      if (int64_t len = offsets[s + 1] - offsets[s]; len > 1)  // the last token's delayed value is never read
        late.narrow(0, offsets[s], len - 1).copy_from(gv.narrow(1, n, m).narrow(0, offsets[s] + 1, len - 1));
    g.add(1, late);
  });
}

// The same of sequences in work: rows by their addresses, since a step of many sequences goes through all of them
// here.
Tensor CcaMixer::values_packed(const Tensor& now_TV, const Tensor& late_TV, const Batch& b, int site) {
  const int64_t n = now_TV.dim(1), m = late_TV.dim(1);
  Tensor v = Tensor::empty({now_TV.dim(0), n + m}, DType::f32);
  const auto now = now_TV.view<const float, 2>(), late = late_TV.view<const float, 2>();
  const auto out = v.view<float, 2>();
  for (size_t s = 0; s < b.states.size(); ++s) {
    const int64_t begin = b.offsets[s], end = b.offsets[s + 1];
    if (begin == end) continue;
    float* tail = b.states[s]->fixed(site, kValueTail).data<float>();
    parallel_for(end - begin, kRowsAPart, [&](int64_t from, int64_t to) {
      for (int64_t t = begin + from; t < begin + to; ++t) {
        std::copy_n(now.row(t), n, out.row(t));
        std::copy_n(t > begin ? late.row(t - 1) : tail, m, out.row(t) + n);
      }
    });
    std::copy_n(late.row(end - 1), m, tail);
  }
  if (packed_late_b_.defined()) add_to_rows<float>(packed_late_b_, v.narrow(1, n, m).view<float, 2>());
  return v;
}

// p: latent rows, current values, and with delay the late ones. Where rows before a segment lie on another rank, they
// are fetched and go through the same operations; what comes of them is dropped again.
std::vector<grad::Var> CcaMixer::queries_keys_values(grad::Tape& tape, const std::vector<grad::Var>& p,
                                                     const Batch& b, int site) {
  const trace::Span span(trace::Kind::operation, "CCA convolutions and norms");
  const int64_t halo = std::max(c_.history(), int64_t{c_.value_delay});
  const ContextParallel* ranks = b.placement.context_parallel();
  if (!ranks || halo == 0) {
    std::vector<grad::Var> out = queries_keys(tape, p[0], b, site);
    out.push_back(c_.value_delay ? values(tape, p[1], p[2], b, site) : p[1]);
    return out;
  }
  const ContextParallel& context = *ranks;
  const Batch wide = context.with_halo_batch(halo);
  std::vector<grad::Var> out = queries_keys(tape, context.with_halo(tape, p[0], halo), wide, site);
  for (grad::Var& v : out) v = context.narrow(tape, v, halo);
  if (c_.value_delay)
    out.push_back(context.narrow(
        tape, values(tape, context.with_zero_halo(tape, p[1], halo), context.with_halo(tape, p[2], halo), wide, site),
        halo));
  else
    out.push_back(p[1]);
  return out;
}

grad::Var CcaMixer::forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) {
  int64_t T = x_TD.dim(0), d = c_.head_dim;
  std::vector<grad::Var> p =
      qkv_.forward(tape, x_TD, c_.value_delay ? std::vector<int>{2, 1, 1} : std::vector<int>{2, 1});
  snapshot_tails(batch, site, kConvTail, p[0].value);
  if (c_.value_delay) snapshot_tails(batch, site, kValueTail, p[2].value);
  if (const PromptShards* prompt = batch.placement.prompt_shards()) {
    prompt->keep_tail(site, kConvTail, p[0].value);
    if (c_.value_delay) prompt->keep_tail(site, kValueTail, p[2].value);
  }
  std::vector<grad::Var> qkv = queries_keys_values(tape, p, batch, site);
  grad::Var v_THd = nn::reshape(tape, qkv[2], {T, c_.n_head_kv, d});
  AttendOptions o{.scale = 1 / std::sqrt(static_cast<double>(d)), .window = c_.window, .bf16_math = bf16_};
  return nn::linear(
      tape,
      nn::reshape(tape, attend(tape, {.q_THd = qkv[0], .k_THd = qkv[1], .v_THd = v_THd}, batch, site, o),
                  {T, c_.q_width()}),
      o_);
}

void register_cca(nn::Registry& r) {
  r.mixers.add("cca", [](const Json& j) -> std::unique_ptr<Mixer> {
    CcaConfig c;
    Json rest = j;
    if (const Json* t = j.find("temperature")) {
      std::string form = t->as_string("mixer cca, temperature");
      if (form != "linear" && form != "exponential")
        fail("mixer cca, temperature: '{}', expected linear or exponential", form);
      if (form == "exponential") c.temperature = CcaConfig::Temperature::exponential;
      rest.erase("temperature");
    }
    from_json(rest, c, "mixer cca", UnknownKeys::refuse);
    return std::make_unique<CcaMixer>(c);
  });
}

}  // namespace quern::mixers
