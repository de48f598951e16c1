#include "quern/mixers/mamba1/mamba1_mixer.h"

#include <cmath>
#include <utility>

#include "quern/base/config.h"
#include "quern/kernels/ssm/causal_conv.h"
#include "quern/kernels/ssm/selective_scan.h"
#include "quern/mixers/ssm_init.h"
#include "quern/mixers/ssm_state.h"
#include "quern/nn/dispatch.h"
#include "quern/nn/ops.h"
#include "quern/nn/registry.h"
#include "quern/nn/rows.h"
#include "quern/trace/trace.h"

namespace quern::mixers {
namespace {

Mamba1Config checked(const Mamba1Config& c) {
  if (c.width < 1 || c.inner < 1 || c.dt_rank < 1)
    fail("mamba1: width {}, inner {} and dt_rank {} must be 1 or more", c.width, c.inner, c.dt_rank);
  if (c.n_head < 1 || c.inner % c.n_head) fail("mamba1: inner {} is not a multiple of n_head {}", c.inner, c.n_head);
  if (c.n_state < 1 || c.n_state > kernels::kScanStates)
    fail("mamba1: n_state {} is outside 1 … {}", c.n_state, kernels::kScanStates);
  if (c.taps < 1 || c.taps > kernels::kConvTaps)
    fail("mamba1: taps {} is outside 1 … {}", c.taps, kernels::kConvTaps);
  return c;
}

// Matrix `head` of a stack [heads, rows, columns].
Tensor matrix_of(const Tensor& stack, int64_t head) {
  return stack.narrow(0, head, 1).reshape({stack.dim(1), stack.dim(2)});
}

grad::Var matrix_of(grad::Tape& tape, grad::Parameter& stack, int64_t head) {
  grad::Var all = tape.param(stack);
  return tape.record(matrix_of(all.value, head), {all}, [head](grad::Grads& g) {
    Tensor to = matrix_of(g.accumulator(0), head);
    nn::with_float(to.dtype(), [&]<class T>() {
      std::span<T> sum = to.span<T>(), part = g.out().span<T>();
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    });
  });
}

// Inference looks through a window; a tape needs a value of its own.
grad::Var window(grad::Tape& tape, const grad::Var& x, int64_t begin, int64_t n) {
  return tape.recording() ? nn::slice_columns(tape, x, begin, n) : grad::Var(x.value.narrow(1, begin, n));
}

// [T, 2I] of pairs (x, z) → [x ‖ z], or back.
template <class T>
Tensor reordered(const Tensor& p, bool back) {
  Tensor out = Tensor::empty(p.shape(), p.dtype());
  nn::for_rows<T>({p}, out, [back](const T* const* in, T* to, int64_t W) {
    const int64_t I = W / 2;
    for (int64_t c = 0; c < I; ++c) {
      if (back)
        to[2 * c] = in[0][c], to[2 * c + 1] = in[0][I + c];
      else
        to[c] = in[0][2 * c], to[I + c] = in[0][2 * c + 1];
    }
  });
  return out;
}

grad::Var deinterleave(grad::Tape& tape, const grad::Var& p_T2I) {
  return nn::with_float(p_T2I.dtype(), [&]<class T>() {
    return tape.record(reordered<T>(p_T2I.value, false), {p_T2I},
                       [](grad::Grads& g) { g.add(0, reordered<T>(g.out().contiguous_copy_if_needed(), true)); });
  });
}

// −exp(A_log) of [heads, channels, N] as [heads, N, channels].
Tensor decays(const Tensor& a_log) {
  const int64_t H = a_log.dim(0), C = a_log.dim(1), N = a_log.dim(2);
  Tensor a = Tensor::empty({H, N, C}, a_log.dtype());
  nn::with_float(a.dtype(), [&]<class T>() {
    for (int64_t h = 0; h < H; ++h)
      for (int64_t c = 0; c < C; ++c)
        for (int64_t n = 0; n < N; ++n)
          a.data<T>()[(h * N + n) * C + c] = -std::exp(a_log.data<T>()[(h * C + c) * N + n]);
  });
  return a;
}

// log(1 … N) for every channel: decays of many sizes, as Mamba starts.
double step_log_decay(double u) { return std::log(1 + std::floor(16 * u)); }

}  // namespace

Mamba1Mixer::Mamba1Mixer(Mamba1Config c)
    : c_(checked(c)),
      in_(2 * c_.inner, c_.width, nn::Bias{c_.proj_bias}),
      out_(c_.width, c_.inner, nn::Bias{c_.proj_bias}),
      conv_w_({c_.inner, 1, c_.taps}, grad::Init::normal(0.5 / std::sqrt(static_cast<double>(c_.taps)))),
      x_proj_({c_.n_head, c_.dt_rank + 2 * c_.n_state, c_.head_channels()}, grad::Init::normal()),
      dt_proj_({c_.n_head, c_.head_channels(), c_.dt_rank},
               grad::Init::normal(0.5 / std::sqrt(static_cast<double>(c_.dt_rank)))),
      dt_bias_({c_.n_head, c_.head_channels()}, grad::Init::drawn(ssm_step_bias)),
      a_log_({c_.n_head, c_.head_channels(), c_.n_state}, grad::Init::drawn(step_log_decay)),
      d_({c_.n_head, c_.head_channels()}, grad::Init::constant(1)) {
  if (c_.conv_bias) conv_b_ = grad::Parameter({c_.inner}, grad::Init::constant(0));
  x_proj_.matrix = dt_proj_.matrix = true;
  x_proj_.kind = dt_proj_.kind = grad::ParameterKind::matrix;
}

StateSpec Mamba1Mixer::state_spec(DType kv) const {
  return {
      {{.name = kConvTail, .shape = {c_.taps - 1, c_.inner}, .dtype = ssm_state_dtype(kv), .snapshots_inside = true},
       {.name = kSsm,
        .shape = {c_.n_head, c_.n_state, c_.head_channels()},
        .dtype = ssm_state_dtype(kv),
        .snapshots_inside = true,
        .shard_axis = 0}}};
}

void Mamba1Mixer::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  prefix_ = prefix;
  in_.visit(prefix + "in_proj", v);
  v(prefix + "conv1d.weight", conv_w_);
  if (c_.conv_bias) v(prefix + "conv1d.bias", conv_b_);
  v(prefix + "x_proj_weight", x_proj_);
  v(prefix + "dt_proj_weight", dt_proj_);
  v(prefix + "dt_proj_bias", dt_bias_);
  v(prefix + "A_log", a_log_);
  v(prefix + "D", d_);
  out_.visit(prefix + "out_proj", v);
}

void Mamba1Mixer::pack(const nn::WeightPrepacking& t) {
  if (!t.packs()) return;
  if (!t.stored()) {
    Tensor w = in_.weight.value, halves = Tensor::empty(w.shape(), w.dtype());
    for (int64_t c = 0; c < c_.inner; ++c)
      for (int64_t half : {0, 1}) halves.narrow(0, half * c_.inner + c, 1).copy_from(w.narrow(0, 2 * c + half, 1));
    in_.weight.value = halves;
  }
  if (c_.proj_bias) in_.bias.value = reordered<float>(in_.bias.value.reshape({1, 2 * c_.inner}), false).reshape({-1});
  in_.pack(t);
  in_path_ = std::exchange(in_.low_rank, {});  // its rows lie as a checkpoint has them, the matrix's do not
  out_.pack(t);
  auto unstack = [&](const char* name, grad::Parameter& stack, std::vector<nn::Linear>& to) {
    to.clear();
    for (int64_t h = 0; h < c_.n_head; ++h) {
      to.emplace_back(stack.shape[1], stack.shape[2], nn::Bias::no);
      if (!t.stored()) to.back().weight.value = matrix_of(stack.value, h);
      to.back().name = fmt::format("{}{}.{}", prefix_, name, h);
      to.back().pack(t);
    }
    stack.value = Tensor();
  };
  unstack("x_proj_weight", x_proj_, packed_x_);
  unstack("dt_proj_weight", dt_proj_, packed_dt_);
  taps_KC_ = taps_outermost(conv_w_.value);
  decay_HNC_ = decays(a_log_.value);
}

grad::Var Mamba1Mixer::convolved(grad::Tape& tape, const grad::Var& xz_T2I, const Batch& batch, int site) {
  const trace::Span span(trace::Kind::operation, "convolution");
  std::vector<grad::Var> inputs = {xz_T2I, tape.param(conv_w_)};
  if (c_.conv_bias) inputs.push_back(tape.param(conv_b_));
  Tensor xz = xz_T2I.value, taps = taps_KC_.defined() && !tape.recording() ? taps_KC_ : taps_outermost(conv_w_.value);
  Tensor u = Tensor::empty({xz.dim(0), c_.inner}, xz.dtype());
  return nn::with_float(xz.dtype(), [&]<class T>() {
    auto conv = [this, xz, taps](std::span<const int32_t> offsets) {
      return kernels::CausalConvInputs<T>{xz.narrow(1, 0, c_.inner).view<const T, 2>(), taps.view<const T, 2>(),
                                          c_.conv_bias ? conv_b_.value.view<const T, 1>() : View<const T, 1>(),
                                          offsets};
    };
    snapshot_tails(batch, site, kConvTail, xz.narrow(1, 0, c_.inner));
    SsmStates<T, 2> tails(batch, site, kConvTail, xz.dtype());
    kernels::causal_conv_silu<T>(conv(batch.offsets), tails.views(), u.view<T, 2>());
    return tape.record(u, inputs, [this, xz, taps, conv, offsets = batch.offsets](grad::Grads& g) {
      Tensor gxz = Tensor::zeros(xz.shape(), xz.dtype()), gtaps = Tensor::zeros(taps.shape(), taps.dtype());
      kernels::causal_conv_silu_backward<T>(
          conv(offsets), g.out().contiguous_copy_if_needed().template view<const T, 2>(),
          gxz.narrow(1, 0, c_.inner).view<T, 2>(), gtaps.view<T, 2>(),
          c_.conv_bias && g.wants(2) ? g.accumulator(2).template view<T, 1>() : View<T, 1>(), thread_arena());
      g.add(0, gxz);
      if (g.wants(1)) g.add(1, taps_innermost(gtaps));
    });
  });
}

grad::Var Mamba1Mixer::scan(grad::Tape& tape, const HeadInputs& of, const Batch& batch, int site) {
  const int64_t head = of.head;
  const std::vector<grad::Var> inputs = {
      of.u_TC, of.dt_TC, of.bc_T2N, of.z_TC, tape.param(a_log_), tape.param(d_), tape.param(dt_bias_)};
  Tensor all = decay_HNC_.defined() && !tape.recording() ? decay_HNC_ : decays(a_log_.value),
         a = matrix_of(all, head);
  Tensor u = of.u_TC.value, dt = of.dt_TC.value, bc = of.bc_T2N.value, z = of.z_TC.value,
         y = Tensor::empty(u.shape(), u.dtype());
  return nn::with_float(u.dtype(), [&]<class T>() {
    auto in = [this, u, dt, bc, z, a, head](int64_t first, int64_t n, std::span<const int32_t> offsets) {
      auto rows = [first, n](const Tensor& x) { return x.narrow(0, first, n).view<const T, 2>(); };
      const int64_t N = c_.n_state, C = c_.head_channels();
      auto row = [&](const grad::Parameter& p) { return View<const T, 1>(p.value.data<T>() + head * C, {C}); };
      return kernels::ScanInputs<T>{.x = rows(u),
                                    .dt = rows(dt),
                                    .z = rows(z),
                                    .b = rows(bc.narrow(1, 0, N)),
                                    .c = rows(bc.narrow(1, N, N)),
                                    .a = a.view<const T, 2>(),
                                    .d = row(d_),
                                    .bias = row(dt_bias_),
                                    .offsets = offsets};
    };
    between_snapshots(batch, [&](int64_t row, int64_t n, const Batch& b, SequenceState* into) {
      SsmStates<T, 3> states(b, site, kSsm, u.dtype());
      std::vector<View<T, 2>> own;
      for (const View<T, 3>& s : states.views()) own.push_back(s[head]);
      kernels::selective_scan<T>(in(row, n, b.offsets), own, y.narrow(0, row, n).view<T, 2>(), thread_arena());
      states.snapshot(into, head);
    });
    return tape.record(y, inputs, [this, in, a, u, bc, head, offsets = batch.offsets](grad::Grads& g) {
      const int64_t N = c_.n_state, C = c_.head_channels();
      Tensor gu = Tensor::empty(u.shape(), u.dtype()), gdt = gu.clone(), gz = gu.clone(),
             gbc = Tensor::empty({u.dim(0), 2 * N}, u.dtype()), ga = Tensor::zeros(a.shape(), a.dtype());
      auto own = [&](int i) {
        return g.wants(i) ? View<T, 1>(g.accumulator(i).template data<T>() + head * C, {C}) : View<T, 1>();
      };
      kernels::selective_scan_backward<T>(
          in(0, u.dim(0), offsets), g.out().contiguous_copy_if_needed().template view<const T, 2>(),
          {gu.view<T, 2>(), gdt.view<T, 2>(), gz.view<T, 2>(), gbc.narrow(1, 0, N).view<T, 2>(),
           gbc.narrow(1, N, N).view<T, 2>(), ga.view<T, 2>(), own(5), own(6)},
          thread_arena());
      g.add(0, gu);
      g.add(1, gdt);
      g.add(2, gbc);
      g.add(3, gz);
      if (!g.wants(4)) return;
      T* to = g.accumulator(4).template data<T>() + head * C * N;
      for (int64_t c = 0; c < C; ++c)  // dA/dA_log = A
        for (int64_t n = 0; n < N; ++n)
          to[c * N + n] += ga.template data<T>()[n * C + c] * a.template data<T>()[n * C + c];
    });
  });
}

grad::Var Mamba1Mixer::scanned(grad::Tape& tape, const grad::Var& u_TI, const grad::Var& xz_T2I, int64_t head,
                               const Batch& batch, int site) {
  const trace::Span span(trace::Kind::operation, "Mamba scan");
  const int64_t C = c_.head_channels(), R = c_.dt_rank;
  const bool packed = !packed_x_.empty();
  auto project = [&](const grad::Var& x, grad::Parameter& stack, std::vector<nn::Linear>& own) {
    return packed ? nn::linear(tape, x, own[static_cast<size_t>(head)])
                  : nn::linear(tape, x, matrix_of(tape, stack, head), tape.precision());
  };
  grad::Var u_TC = window(tape, u_TI, head * C, C), z_TC = window(tape, xz_T2I, c_.inner + head * C, C);
  grad::Var s = project(u_TC, x_proj_, packed_x_);
  grad::Var dt_TC = project(window(tape, s, 0, R), dt_proj_, packed_dt_);
  return scan(
      tape, {.head = head, .u_TC = u_TC, .dt_TC = dt_TC, .bc_T2N = window(tape, s, R, 2 * c_.n_state), .z_TC = z_TC},
      batch, site);
}

grad::Var Mamba1Mixer::forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) {
  batch.placement.require_whole_segments("mamba1");
  grad::Var p = nn::linear(tape, x_TD, in_);
  grad::Var xz_T2I = packed_x_.empty() ? deinterleave(tape, p) : p;
  if (in_path_.acts(tape)) xz_T2I = nn::add(tape, xz_T2I, deinterleave(tape, in_path_.alone(tape, x_TD)));
  grad::Var u_TI = convolved(tape, xz_T2I, batch, site);
  std::vector<grad::Var> heads;
  for (int64_t h = 0; h < c_.n_head; ++h) heads.push_back(scanned(tape, u_TI, xz_T2I, h, batch, site));
  return nn::linear(tape, c_.n_head == 1 ? heads[0] : nn::concat_columns(tape, heads), out_);
}

void register_mamba1(nn::Registry& r) {
  r.mixers.add("mamba1", [](const Json& j) -> std::unique_ptr<Mixer> {
    Mamba1Config c;
    from_json(j, c, "mixer mamba1", UnknownKeys::refuse);
    return std::make_unique<Mamba1Mixer>(c);
  });
}

}  // namespace quern::mixers
