#include "quern/mixers/mamba2/mamba2_mixer.h"

#include <cmath>

#include "quern/base/config.h"
#include "quern/kernels/ssm/causal_conv.h"
#include "quern/kernels/ssm/gated_norm.h"
#include "quern/mixers/ranks/prompt_shards.h"
#include "quern/mixers/ssm_init.h"
#include "quern/mixers/ssm_state.h"
#include "quern/nn/dispatch.h"
#include "quern/nn/registry.h"
#include "quern/trace/trace.h"

namespace quern::mixers {
namespace {

Mamba2Config checked(const Mamba2Config& c) {
  if (c.width < 1 || c.n_head < 1 || c.head_dim < 1 || c.n_state < 1)
    fail("mamba2: width {}, n_head {}, head_dim {} and n_state {} must be 1 or more", c.width, c.n_head, c.head_dim,
         c.n_state);
  if (c.n_group < 1 || c.n_head % c.n_group)
    fail("mamba2: n_head {} is not a multiple of n_group {}", c.n_head, c.n_group);
  if (c.taps < 1 || c.taps > kernels::kConvTaps)
    fail("mamba2: taps {} is outside 1 … {}", c.taps, kernels::kConvTaps);
  if (!c.factors.empty() && c.factors.size() != 5)
    fail("mamba2: {} factors, expected 5 (z, x, B, C and dt)", c.factors.size());
  if (!(c.dt_min >= 0)) fail("mamba2: dt_min {} must be 0 or more", c.dt_min);
  if (c.dt_max && !(*c.dt_max > c.dt_min)) fail("mamba2: dt_max {} must be above dt_min {}", *c.dt_max, c.dt_min);
  return c;
}

template <class T>
View<T, 2> columns(const Tensor& x, int64_t begin, int64_t n) {
  return x.narrow(1, begin, n).view<T, 2>();
}

}  // namespace

Mamba2Mixer::Mamba2Mixer(Mamba2Config c)
    : c_(checked(c)),
      in_(c_.inner() + c_.channels() + c_.n_head, c_.width, nn::Bias{c_.proj_bias}),
      out_(c_.width, c_.inner(), nn::Bias{c_.proj_bias}),
      conv_w_({c_.channels(), 1, c_.taps}, grad::Init::normal(0.5 / std::sqrt(static_cast<double>(c_.taps)))),
      a_log_({c_.n_head}, grad::Init::drawn(ssm_log_decay)),
      d_({c_.n_head}, grad::Init::constant(1)),
      dt_bias_({c_.n_head}, grad::Init::drawn(ssm_step_bias)) {
  if (c_.norm) norm_w_ = grad::Parameter({c_.inner()}, grad::Init::constant(1));
  if (const auto& f = c_.factors; !f.empty()) {
    const int64_t I = c_.inner(), GN = c_.n_group * c_.n_state;
    factors_ = nn::ColumnFactors({{I, f[0]}, {I, f[1]}, {GN, f[2]}, {GN, f[3]}, {c_.n_head, f[4]}});
  }
  if (c_.conv_bias) conv_b_ = grad::Parameter({c_.channels()}, grad::Init::constant(0));
}

StateSpec Mamba2Mixer::state_spec(DType kv) const {
  return {{{.name = kConvTail,
            .shape = {c_.taps - 1, c_.channels()},
            .dtype = ssm_state_dtype(kv),
            .snapshots_inside = true,
            .over_ranks = c_.taps - 1 <= PromptShards::kMinRowsOfChunk},
           {.name = kSsm,
            .shape = {c_.n_head, c_.n_state, c_.head_dim},
            .dtype = ssm_state_dtype(kv),
            .snapshot_alignment = kernels::kSsdChunk,
            .snapshots_inside = true,
            .shard_axis = 0,
            .over_ranks = true}}};
}

void Mamba2Mixer::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  in_.visit(prefix + "in_proj", v);
  v(prefix + "conv1d.weight", conv_w_);
  if (c_.conv_bias) v(prefix + "conv1d.bias", conv_b_);
  v(prefix + "A_log", a_log_);
  v(prefix + "D", d_);
  v(prefix + "dt_bias", dt_bias_);
  if (c_.norm) v(prefix + "norm.weight", norm_w_);
  out_.visit(prefix + "out_proj", v);
}

void Mamba2Mixer::pack(const nn::WeightPrepacking& t) {
  if (!t.packs()) return;
  in_.pack(t);
  out_.pack(t);
  taps_KC_ = taps_outermost(conv_w_.value);
}

template <class T>
kernels::SsdInputs<T> Mamba2Mixer::ssd_inputs(const Tensor& p_TW, const Tensor& xbc_TC,
                                              std::span<const int32_t> offsets) const {
  const int64_t I = c_.inner(), GN = c_.n_group * c_.n_state;
  kernels::SsdInputs<T> s;
  s.x = columns<const T>(xbc_TC, 0, I);
  s.b = columns<const T>(xbc_TC, I, GN);
  s.c = columns<const T>(xbc_TC, I + GN, GN);
  s.dt = columns<const T>(p_TW, I + c_.channels(), c_.n_head);
  s.a_log = a_log_.value.view<const T, 1>();
  s.d = d_.value.view<const T, 1>();
  s.bias = dt_bias_.value.view<const T, 1>();
  s.n_group = c_.n_group;
  s.dt_min = c_.dt_min;
  if (c_.dt_max) s.dt_max = *c_.dt_max;
  s.offsets = offsets;
  return s;
}

template <class T>
grad::Var Mamba2Mixer::core(grad::Tape& tape, const grad::Var& p_TW, const Batch& batch, int site) {
  const trace::Span span(trace::Kind::operation, "Mamba-2 convolution and scan");
  const int64_t rows = p_TW.dim(0), I = c_.inner(), C = c_.channels(), H = c_.n_head;
  const DType dtype = p_TW.dtype();
  std::vector<grad::Var> inputs = {p_TW, tape.param(conv_w_), tape.param(a_log_), tape.param(d_),
                                   tape.param(dt_bias_)};
  const int bias_input = c_.norm ? 6 : 5;
  if (c_.norm) inputs.push_back(tape.param(norm_w_));
  if (c_.conv_bias) inputs.push_back(tape.param(conv_b_));
  Tensor p = p_TW.value, taps = taps_KC_.defined() && !tape.recording() ? taps_KC_ : taps_outermost(conv_w_.value);
  auto conv = [this, taps](const Tensor& from, std::span<const int32_t> offsets) {
    return kernels::CausalConvInputs<T>{columns<const T>(from, c_.inner(), c_.channels()), taps.view<const T, 2>(),
                                        c_.conv_bias ? conv_b_.value.view<const T, 1>() : View<const T, 1>(),
                                        offsets};
  };
  Arena& scratch = thread_arena();
  Tensor xbc = Tensor::empty({rows, C}, dtype), y = Tensor::empty({rows, I}, dtype);
  const bool keep = tape.needs(inputs);
  {
    snapshot_tails(batch, site, kConvTail, p.narrow(1, I, C));
    SsmStates<T, 2> tails(batch, site, kConvTail, dtype);
    kernels::causal_conv_silu<T>(conv(p, batch.offsets), tails.views(), xbc.view<T, 2>());
    between_snapshots(batch, [&](int64_t row, int64_t n, const Batch& b, SequenceState* into) {
      SsmStates<T, 3> states(b, site, kSsm, dtype);
      kernels::ssd<T>(ssd_inputs<T>(p.narrow(0, row, n), xbc.narrow(0, row, n), b.offsets), states.views(),
                      y.narrow(0, row, n).view<T, 2>(), scratch);
      states.snapshot(into);
    });
  }
  Tensor out = keep && c_.norm ? Tensor::empty({rows, I}, dtype) : y;
  if (c_.norm)
    kernels::gated_rms_norm<T>(y.view<const T, 2>(), columns<const T>(p, 0, I), norm_w_.value.view<const T, 1>(),
                               c_.n_group, c_.norm_eps, out.view<T, 2>());
  QUERN_CHECK(!keep || batch.states.empty(), "training reads whole segments, not states");
  return tape.record(out, inputs, [=, this, offsets = batch.offsets](grad::Grads& g) {
    auto wanted = [&](int i) { return g.wants(i) ? g.accumulator(i).template view<T, 1>() : View<T, 1>(); };
    // Without a norm the gate is another operation's: its columns get nothing here.
    Tensor gp = c_.norm ? Tensor::empty(p.shape(), p.dtype()) : Tensor::zeros(p.shape(), p.dtype());
    Tensor gxbc = Tensor::empty(xbc.shape(), xbc.dtype());
    Tensor gy = c_.norm ? Tensor::empty(y.shape(), y.dtype()) : g.out();
    Arena& scratch = thread_arena();
    if (c_.norm)
      kernels::gated_rms_norm_backward<T>({.y = y.view<const T, 2>(),
                                           .z = columns<const T>(p, 0, I),
                                           .w = norm_w_.value.view<const T, 1>(),
                                           .groups = c_.n_group,
                                           .eps = c_.norm_eps,
                                           .g_out = g.out().view<const T, 2>(),
                                           .gy = gy.view<T, 2>(),
                                           .gz = columns<T>(gp, 0, I),
                                           .gw = wanted(5)});
    const int64_t GN = c_.n_group * c_.n_state;
    kernels::ssd_backward<T>(ssd_inputs<T>(p, xbc, offsets), gy.view<const T, 2>(),
                             {columns<T>(gxbc, 0, I), columns<T>(gxbc, I, GN), columns<T>(gxbc, I + GN, GN),
                              columns<T>(gp, I + C, H), wanted(2), wanted(3), wanted(4)},
                             scratch);
    Tensor gtaps = Tensor::zeros(taps.shape(), taps.dtype());
    kernels::causal_conv_silu_backward<T>(conv(p, offsets), gxbc.view<const T, 2>(), columns<T>(gp, I, C),
                                          gtaps.view<T, 2>(), c_.conv_bias ? wanted(bias_input) : View<T, 1>(),
                                          scratch);
    g.add(0, gp);
    if (g.wants(1)) g.add(1, taps_innermost(gtaps));
  });
}

grad::Var Mamba2Mixer::gated(grad::Tape& tape, const grad::Var& y_TI, const grad::Var& p_TW) const {
  return nn::mul(tape, y_TI,
                 nn::activate(tape, kernels::Activation::silu, nn::slice_columns(tape, p_TW, 0, c_.inner())));
}

grad::Var Mamba2Mixer::forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) {
  grad::Var p_TW = factors_.apply(tape, nn::linear(tape, x_TD, in_));
  if (batch.placement.context_parallel()) return nn::linear(tape, context_core(tape, p_TW, batch, site), out_);
  grad::Var y_TI = nn::with_float(p_TW.dtype(), [&]<class T>() { return core<T>(tape, p_TW, batch, site); });
  return nn::linear(tape, c_.norm ? y_TI : gated(tape, y_TI, p_TW), out_);
}

void register_mamba2(nn::Registry& r) {
  r.mixers.add("mamba2", [](const Json& j) -> std::unique_ptr<Mixer> {
    Mamba2Config c;
    from_json(j, c, "mixer mamba2", UnknownKeys::refuse);
    return std::make_unique<Mamba2Mixer>(c);
  });
}

}  // namespace quern::mixers
