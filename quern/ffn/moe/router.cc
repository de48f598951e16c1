#include "quern/ffn/moe/router.h"

#include <algorithm>
#include <limits>

#include "quern/base/threads.h"
#include "quern/nn/dispatch.h"
#include "quern/nn/ops.h"
#include "quern/trace/trace.h"

namespace quern::ffn {
namespace {

// w[t, s] = p[t, e[t, s]]; the gradient flows through the chosen entries only.
grad::Var gather(grad::Tape& tape, const grad::Var& p_TE, const Tensor& e_Tk) {
  int64_t T = p_TE.dim(0), E = p_TE.dim(1), k = e_Tk.dim(1);
  Tensor w = Tensor::empty({T, k}, p_TE.dtype());
  return nn::with_float(p_TE.dtype(), [&]<class F>() {
    const int32_t* e = e_Tk.data<int32_t>();
    for (int64_t i = 0; i < T * k; ++i) w.data<F>()[i] = p_TE.value.data<F>()[i / k * E + e[i]];
    return tape.record(w, {p_TE}, [e_Tk, T, E, k](grad::Grads& g) {
      Tensor gp = Tensor::zeros({T, E}, g.out().dtype());
      for (int64_t i = 0; i < T * k; ++i) gp.data<F>()[i / k * E + e_Tk.data<int32_t>()[i]] += g.out().data<F>()[i];
      g.add(0, gp);
    });
  });
}

// The k largest of p + bias per row, largest first, ties to the lowest index. bias may be undefined.
Tensor choose(const Tensor& p_TE, const Tensor& bias_E, int64_t k) {
  constexpr int64_t kTokensPerThread = 256;
  int64_t T = p_TE.dim(0), E = p_TE.dim(1);
  Tensor e = Tensor::empty({T, k}, DType::i32);
  nn::with_float(p_TE.dtype(), [&]<class F>() {
    Tensor bias = bias_E.defined() ? bias_E.to(p_TE.dtype()) : Tensor::zeros({E}, p_TE.dtype());
    parallel_for(T, kTokensPerThread, [&](int64_t begin, int64_t end) {
      std::vector<F> score(static_cast<size_t>(E));
      for (int64_t t = begin; t < end; ++t) {
        for (int64_t j = 0; j < E; ++j) score[j] = p_TE.data<F>()[t * E + j] + bias.data<F>()[j];
        for (int64_t s = 0; s < k; ++s) {
          auto best = std::max_element(score.begin(), score.end());
          e.data<int32_t>()[t * k + s] = static_cast<int32_t>(best - score.begin());
          *best = -std::numeric_limits<F>::infinity();
        }
      }
    });
  });
  return e;
}

// Rows scaled to sum 1: y = w/s, gw = (gy − Σ gy·y)/s.
grad::Var normalize_rows(grad::Tape& tape, const grad::Var& w_Tk) {
  int64_t T = w_Tk.dim(0), k = w_Tk.dim(1);
  Tensor w = w_Tk.value, y = w.clone();
  return nn::with_float(w.dtype(), [&]<class F>() {
    auto row_sum = [k](const F* r) {
      F s = 0;
      for (int64_t i = 0; i < k; ++i) s += r[i];
      return s;
    };
    for (int64_t t = 0; t < T; ++t) {
      F s = row_sum(w.data<F>() + t * k);
      for (int64_t i = 0; i < k; ++i) y.data<F>()[t * k + i] /= s;
    }
    return tape.record(y, {w_Tk}, [w, y, T, k, row_sum](grad::Grads& g) {
      Tensor gw = Tensor::empty(w.shape(), w.dtype());
      for (int64_t t = 0; t < T; ++t) {
        const F *gy = g.out().data<F>() + t * k, *yr = y.data<F>() + t * k;
        F s = row_sum(w.data<F>() + t * k), dot = 0;
        for (int64_t i = 0; i < k; ++i) dot += gy[i] * yr[i];
        for (int64_t i = 0; i < k; ++i) gw.data<F>()[t * k + i] = (gy[i] - dot) / s;
      }
      g.add(0, gw);
    });
  });
}

}  // namespace

ZayaRouter::ZayaRouter(ZayaRouterConfig c)
    : c_(c),
      down_(c.router_width, c.width, nn::Bias::yes),
      fc1_(c.router_width, c.router_width, nn::Bias::yes),
      fc2_(c.router_width, c.router_width, nn::Bias::yes),
      out_(c.n_experts + 1, c.linear ? c.width : c.router_width, nn::Bias::no),
      norm_({c.router_width}, grad::Init::constant(1)),
      beta_({c.n_experts + 1}, grad::Init::constant(0)) {
  if (c.router_width < 1 && !c.linear) fail("moe: router_width {} must be 1 or more", c.router_width);
  if (c.depth_average) gamma_ = grad::Parameter({c.router_width}, grad::Init::constant(1));
  beta_.trainable = false;
  beta_.kind = grad::ParameterKind::balance;
  beta_.init.last = -1;
  for (nn::Linear* l : {&down_, &fc1_, &fc2_, &out_}) l->weight.matrix = false;  // the router stays in f32
}

void ZayaRouter::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  if (c_.linear) {
    out_.visit(prefix + "out_proj", v);
    v(prefix + "balancing_biases", beta_);
    return;
  }
  down_.visit(prefix + "down_proj", v);
  if (c_.depth_average) v(prefix + "router_states_scale", gamma_);
  v(prefix + "router_mlp.norm.weight", norm_);
  fc1_.visit(prefix + "router_mlp.fc1", v);
  fc2_.visit(prefix + "router_mlp.fc2", v);
  out_.visit(prefix + "router_mlp.out_proj", v);
  v(prefix + "balancing_biases", beta_);
}

void ZayaRouter::pack(const nn::WeightPrepacking& t) {
  out_.pack(t.of(kernels::WeightFormat::f32));
  if (c_.linear) return;
  for (nn::Linear* l : {&down_, &fc1_, &fc2_}) l->pack(t.of(kernels::WeightFormat::f32));
}

grad::Var ZayaRouter::scores(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry) {
  constexpr auto gelu = kernels::Activation::gelu;
  if (c_.linear) return nn::linear(tape, x_TD, out_);
  grad::Var r_TR = nn::linear(tape, x_TD, down_);
  if (c_.depth_average && carry.router_state.value.defined())
    r_TR = nn::add(tape, r_TR, nn::mul_columns(tape, carry.router_state, gamma_));
  carry.router_state = r_TR;
  grad::Var c_TR = nn::activate(tape, gelu, nn::linear(tape, nn::rms_norm(tape, r_TR, norm_, c_.eps), fc1_));
  c_TR = nn::activate(tape, gelu, nn::linear(tape, c_TR, fc2_));
  return nn::linear(tape, c_TR, out_);
}

Routing ZayaRouter::route(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry) {
  const trace::Span span(trace::Kind::operation, "router");
  grad::Var p_TE = nn::softmax(tape, scores(tape, x_TD, carry));
  Tensor e_T1 = choose(p_TE.value, beta_.value, 1);
  carry.routes.pin(e_T1.span<int32_t>(), 1, c_.n_experts + 1);
  return {e_T1, gather(tape, p_TE, e_T1)};
}

void ZayaRouter::note_load(std::span<const int64_t> counts) {
  if (!beta_.grad.defined()) beta_.grad = Tensor::zeros(beta_.shape, DType::f32);
  for (size_t j = 0; j < counts.size(); ++j) beta_.grad.data<float>()[j] += static_cast<float>(counts[j]);
}

LinearRouter::LinearRouter(int64_t width, int64_t n_experts, int64_t k, TopKWeights weights)
    : k_(k), weights_(weights), gate_(n_experts, width, nn::Bias::no) {
  if (k < 1 || k > n_experts) fail("moe: top_k {} is outside 1 … {} experts", k, n_experts);
  gate_.weight.matrix = false;
}

void LinearRouter::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  v(prefix + "weight", gate_.weight);
}

void LinearRouter::pack(const nn::WeightPrepacking& t) { gate_.pack(t.of(kernels::WeightFormat::f32)); }

Routing LinearRouter::route(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry) {
  const trace::Span span(trace::Kind::operation, "router");
  grad::Var p_TE = nn::softmax(tape, nn::linear(tape, x_TD, gate_));
  Tensor e_Tk = choose(p_TE.value, Tensor(), k_);
  carry.routes.pin(e_Tk.span<int32_t>(), k_, p_TE.dim(1));
  grad::Var w_Tk = gather(tape, p_TE, e_Tk);
  return {e_Tk, weights_ == TopKWeights::renormalized ? normalize_rows(tape, w_Tk) : w_Tk};
}

}  // namespace quern::ffn
