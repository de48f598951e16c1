#include "quern/ffn/moe/moe_ffn.h"

#include "quern/base/config.h"
#include "quern/ffn/moe/exchange.h"
#include "quern/kernels/moe/moe.h"
#include "quern/nn/dispatch.h"
#include "quern/nn/ops.h"
#include "quern/nn/registry.h"
#include "quern/trace/op_counters.h"
#include "quern/trace/trace.h"

namespace quern::ffn {

MoeFfn::MoeFfn(ZayaRouterConfig r, int64_t hidden)
    : MoeFfn(std::make_unique<ZayaRouter>(r), r.width, hidden, r.n_experts) {
  skip_identity_ = r.skip == ZayaRouterConfig::Skip::identity;
}

MoeFfn::MoeFfn(std::unique_ptr<Router> router, int64_t width, int64_t hidden, int64_t n_experts, MoeNames names)
    : n_experts_(n_experts),
      router_(std::move(router)),
      gate_up_({n_experts, 2 * hidden, width}, grad::Init::normal()),
      down_({n_experts, width, hidden}, grad::Init::normal()),
      names_(names) {
  if (width < 1 || hidden < 1 || n_experts < 1)
    fail("moe: width {}, hidden {} and n_experts {} must be 1 or more", width, hidden, n_experts);
  gate_up_.matrix = down_.matrix = true;
  gate_up_.kind = down_.kind = grad::ParameterKind::matrix;
  gate_up_.fused = 2;
}

void MoeFfn::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  prefix_ = prefix;
  router_->visit(prefix + names_.router, v);
  v(prefix + names_.gate_up, gate_up_);
  v(prefix + names_.down, down_);
}

void MoeFfn::pack(const nn::WeightPrepacking& t) {
  if (!t.packs()) return;
  auto pack_each = [&](const char* name, grad::Parameter& p, std::vector<kernels::PrepackedWeight>& out) {
    out.clear();
    for (int64_t e = 0; e < n_experts_; ++e)
      out.push_back(t.matrix(fmt::format("{}{}.{}", prefix_, name, e), p.shape[1], p.shape[2], [&] {
        return p.value.narrow(0, e, 1).reshape({p.shape[1], p.shape[2]});
      }));
    p.value = Tensor();
  };
  pack_each(names_.gate_up, gate_up_, packed_gate_up_);
  pack_each(names_.down, down_, packed_down_);
  router_->pack(t);
}

grad::Var MoeFfn::forward(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry) {
  Routing r = router_->route(tape, x_TD, carry);
  auto chosen = r.expert_Tk.span<int32_t>();
  counts_.assign(static_cast<size_t>(n_experts_) + 1, 0);
  for (int32_t e : chosen) ++counts_[static_cast<size_t>(e)];
  if (tape.recording()) router_->note_load(counts_);
  carry.routes.write(chosen, r.expert_Tk.dim(1));
  grad::Var y_TD = group_ ? experts_over_ranks(tape, x_TD, r) : experts(tape, x_TD, r);
  return skip_identity_ && counts_.back() > 0 ? skipped(tape, y_TD, x_TD, r) : y_TD;
}

void MoeFfn::share(comm::Communicator* group) {
  if (group && group->size() > n_experts_)
    fail("moe: {} experts cannot be distributed over {} ranks: every rank needs at least one", n_experts_,
         group->size());
  group_ = group;
}

grad::Var MoeFfn::experts_over_ranks(grad::Tape& tape, const grad::Var& x_TD, const Routing& r) {
  const trace::Span span(trace::Kind::operation, "expert exchange");
  const ExpertExchange exchange(*group_, r.expert_Tk, n_experts_);
  grad::Var x_RD = exchange.send_tokens(tape, x_TD), w_R1 = exchange.send_weights(tape, r.weight_Tk);
  return exchange.home(tape, experts(tape, x_RD, {exchange.expert_R1(), w_R1}));
}

grad::Var MoeFfn::experts(grad::Tape& tape, const grad::Var& x_TD, const Routing& r) {
  const trace::Span span(trace::Kind::operation, "experts");
  if (!packed_down_.empty()) return frozen_experts(tape, x_TD, r);
  const Tensor x = x_TD.value, e = r.expert_Tk, w = r.weight_Tk.value;
  int64_t D = x.dim(1), F = down_.shape[2];
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  Arena& scratch = thread_arena();
  Arena::Scope scope(scratch);
  kernels::MoePlan plan = kernels::moe_plan(e.view<const int32_t, 2>(), n_experts_, scratch);
  const std::vector<grad::Var> inputs = {x_TD, r.weight_Tk, tape.param(gate_up_), tape.param(down_)};
  const Tensor gate_up = gate_up_.value.to(x.dtype()), down = down_.value.to(x.dtype());
  trace::count_matmul(plan.n, 3 * D * F, (gate_up.bytes() + down.bytes()) / n_experts_);
  bool keep = tape.needs(inputs);
  Tensor saved_gu = keep ? Tensor::empty({plan.n, 2 * F}, x.dtype()) : Tensor(),
         saved_out = keep ? Tensor::empty({plan.n, D}, x.dtype()) : Tensor();
  return nn::with_float(x.dtype(), [&, this]<class T>() {
    kernels::MoeForward<T> f;
    f.x = x.view<const T, 2>();
    f.gate_up = gate_up.view<const T, 3>();
    f.down = down.view<const T, 3>();
    f.p = w.view<const T, 2>();
    f.act = act_;
    f.bf16 = tape.bf16();
    f.y = y.view<T, 2>();
    if (keep) f.saved_gate_up = saved_gu.view<T, 2>(), f.saved_out = saved_out.view<T, 2>();
    kernels::moe_ffn<T>(f, plan, scratch);
    return tape.record(y, inputs, [=, this, bf16 = tape.bf16()](grad::Grads& g) {
      Arena& scratch = thread_arena();
      Arena::Scope scope(scratch);
      kernels::MoePlan plan = kernels::moe_plan(e.view<const int32_t, 2>(), n_experts_, scratch);
      Tensor gx = Tensor::empty(x.shape(), x.dtype()), gw = Tensor::empty(w.shape(), w.dtype());
      kernels::MoeBackward<T> b;
      b.x = x.view<const T, 2>();
      b.gate_up = gate_up.view<const T, 3>();
      b.down = down.view<const T, 3>();
      b.p = w.view<const T, 2>();
      b.saved_gate_up = saved_gu.view<const T, 2>();
      b.saved_out = saved_out.view<const T, 2>();
      b.gy = g.out().view<const T, 2>();
      b.act = act_;
      b.bf16 = bf16;
      b.gx = gx.view<T, 2>();
      b.gp = gw.view<T, 2>();
      if (g.wants(2)) b.g_gate_up = g.accumulator(2).view<T, 3>();
      if (g.wants(3)) b.g_down = g.accumulator(3).view<T, 3>();
      kernels::moe_ffn_backward<T>(b, plan, scratch);
      g.add(0, gx);
      g.add(1, gw);
    });
  });
}

// Packed experts, as they multiply at inference.
grad::Var MoeFfn::frozen_experts(grad::Tape& tape, const grad::Var& x_TD, const Routing& r) {
  const Tensor x = x_TD.value, e = r.expert_Tk, w = r.weight_Tk.value;
  Tensor y = Tensor::empty(x.shape(), DType::f32), saved_gu, saved_out;
  Arena& scratch = thread_arena();
  Arena::Scope scope(scratch);
  const kernels::MoePlan plan = kernels::moe_plan(e.view<const int32_t, 2>(), n_experts_, scratch);
  kernels::MoePacked f{.x = x.view<const float, 2>(),
                       .gate_up = packed_gate_up_,
                       .down = packed_down_,
                       .p = w.view<const float, 2>(),
                       .act = act_,
                       .y = y.view<float, 2>()};
  if (tape.needs({x_TD, r.weight_Tk})) {
    saved_gu = Tensor::empty({plan.n, 2 * down_.shape[2]}, DType::f32);
    saved_out = Tensor::empty({plan.n, x.dim(1)}, DType::f32);
    f.saved_gate_up = saved_gu.view<float, 2>(), f.saved_out = saved_out.view<float, 2>();
  }
  kernels::moe_ffn_packed(f, plan, scratch);
  return tape.record(y, {x_TD, r.weight_Tk},
                     [e, w, saved_gu, saved_out, shape = x.shape(), bf16 = tape.bf16(), this](grad::Grads& g) {
                       Arena& scratch = thread_arena();
                       Arena::Scope scope(scratch);
                       Tensor gx = Tensor::empty(shape, DType::f32), gw = Tensor::empty(w.shape(), DType::f32);
                       kernels::moe_ffn_packed_backward(
                           {.gate_up = packed_gate_up_,
                            .down = packed_down_,
                            .p = w.view<const float, 2>(),
                            .saved_gate_up = saved_gu.view<const float, 2>(),
                            .saved_out = saved_out.view<const float, 2>(),
                            .gy = g.out().view<const float, 2>(),
                            .act = act_,
                            .gx = gx.view<float, 2>(),
                            .gp = gw.view<float, 2>(),
                            .bf16 = bf16},
                           kernels::moe_plan(e.view<const int32_t, 2>(), n_experts_, scratch), scratch);
                       g.add(0, gx);
                       g.add(1, gw);
                     });
}

// y + w·x on the rows that chose no expert: gx = w·gy, gw = ⟨gy, x⟩ there.
grad::Var MoeFfn::skipped(grad::Tape& tape, const grad::Var& y_TD, const grad::Var& x_TD, const Routing& r) {
  const trace::Span span(trace::Kind::operation, "experts");
  Tensor y = y_TD.value.clone(), x = x_TD.value, e = r.expert_Tk, w = r.weight_Tk.value;
  int64_t D = x.dim(1), k = e.dim(1), E = n_experts_;
  return nn::with_float(x.dtype(), [&]<class T>() {
    auto each = [e, k, E](auto&& f) {
      for (int64_t i = 0; i < e.size(); ++i)
        if (e.data<int32_t>()[i] >= E) f(i, i / k);
    };
    each([&](int64_t i, int64_t t) {
      for (int64_t c = 0; c < D; ++c) y.data<T>()[t * D + c] += w.data<T>()[i] * x.data<T>()[t * D + c];
    });
    return tape.record(y, {y_TD, x_TD, r.weight_Tk}, [x, w, D, each](grad::Grads& g) {
      Tensor gx = Tensor::zeros(x.shape(), x.dtype()), gw = Tensor::zeros(w.shape(), w.dtype());
      const T* gy = g.out().data<T>();
      each([&](int64_t i, int64_t t) {
        for (int64_t c = 0; c < D; ++c) {
          gx.data<T>()[t * D + c] += w.data<T>()[i] * gy[t * D + c];
          gw.data<T>()[i] += gy[t * D + c] * x.data<T>()[t * D + c];
        }
      });
      g.add(0, g.out());
      g.add(1, gx);
      g.add(2, gw);
    });
  });
}

void register_moe(nn::Registry& r) {
  r.ffns.add("moe", [](const Json& j) -> std::unique_ptr<Ffn> {
    MoeConfig c;
    from_json(j, c, "ffn moe", UnknownKeys::refuse);
    if (c.router == "linear")
      return std::make_unique<MoeFfn>(
          std::make_unique<LinearRouter>(c.width, c.n_experts, c.top_k, TopKWeights{c.renormalize}), c.width,
          c.hidden, c.n_experts);
    if (c.router != "zaya") fail("ffn moe, router: '{}', expected linear or zaya", c.router);
    if (c.skip != "zero" && c.skip != "identity") fail("ffn moe, skip: '{}', expected zero or identity", c.skip);
    ZayaRouterConfig z{
        .width = c.width, .router_width = c.router_width, .n_experts = c.n_experts, .depth_average = c.depth_average};
    if (c.skip == "identity") z.skip = ZayaRouterConfig::Skip::identity;
    return std::make_unique<MoeFfn>(z, c.hidden);
  });
}

}  // namespace quern::ffn
