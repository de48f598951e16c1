#include "quern/nn/low_rank.h"

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/threads.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/trace/trace.h"

namespace quern::nn {
namespace {

// [T, R] = s·x·Aᵀ
Tensor reduced(const LowRankPair& p, const Tensor& x_TK) {
  const Tensor& a = p.a_RK.value;
  Tensor low_TR = Tensor::empty({x_TK.dim(0), a.dim(0)}, DType::f32);
  kernels::gemm<float>(x_TK.view<const float, 2>(), a.view<const float, 2>(), low_TR.view<float, 2>(),
                       {.trans_b = true});
  const auto s = static_cast<float>(p.scale);
  if (s != 1)
    for (float& v : low_TR.span<float>()) v *= s;
  return low_TR;
}

void expand_into(const LowRankPair& p, const Tensor& low_TR, const Tensor& y_TN) {
  kernels::gemm<float>(low_TR.view<const float, 2>(), p.b_NR.value.view<const float, 2>(), y_TN.view<float, 2>(),
                       {.trans_b = true, .beta = 1});
}

// x with elements dropped, in place: every row has random numbers of its own, whatever the threads.
void drop(const LowRankPair& p, uint64_t draw, const Tensor& x_TK) {
  const auto keep = static_cast<float>(1 / (1 - p.dropout));
  constexpr int64_t kGrain = 16;  // rows worth a thread
  parallel_for(x_TK.dim(0), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      Rng random(draw, p.stream + static_cast<uint64_t>(t));
      float* x = x_TK.data<float>() + t * x_TK.dim(1);
      for (int64_t i = 0; i < x_TK.dim(1); ++i) x[i] = random.uniform() < p.dropout ? 0 : x[i] * keep;
    }
  });
}

}  // namespace

LowRankPair::LowRankPair(Tensor a, Tensor b, double s)
    : a_RK(a.shape(), grad::Init::constant(0)), b_NR(b.shape(), grad::Init::constant(0)), scale(s) {
  a_RK.value = std::move(a), b_NR.value = std::move(b);
  a_RK.trainable = b_NR.trainable = false;
}

LowRank LowRank::at_site(size_t site, int64_t n) {
  LowRank path;
  path.site_ = site, path.n_ = n;
  return path;
}

// What does not learn, where nothing is recorded.
void LowRank::add_fixed(const grad::Tape& tape, const Tensor& y_TN, const Tensor& x_TK) const {
  std::vector<kernels::LowRankRows> rows;
  if (pair_) {
    rows.push_back({0, x_TK.dim(0), &pair_->factors, 1});
  } else {
    QUERN_CHECK(tape.adapters->rows == x_TK.dim(0), "adapters of {} rows for {}", tape.adapters->rows, x_TK.dim(0));
    for (const RowAdapters& part : tape.adapters->parts)
      for (const ChosenAdapter& c : *part.chosen)
        if (const kernels::LowRankFactors& f = c.paths->at.at(site_); f.defined() && c.scale != 0)
          rows.push_back({part.begin, part.end, &f, c.scale});
  }
  kernels::add_low_rank(x_TK.view<const float, 2>(), rows, y_TN.view<float, 2>());
}

LowRank LowRankSource::find_shared(const std::vector<std::string>& names, int64_t n, int64_t k) {
  LowRank own = find(names[0], n, k);
  if (own.defined() || names.size() < 2) return own;
  for (size_t i = 2; i < names.size(); ++i)
    if (find(names[i], n, k).defined()) return own;
  return find(names[1], n, k);
}

grad::Var LowRank::beside(grad::Tape& tape, const grad::Var& y, const grad::Var& x_TK, int64_t begin) const {
  if (!acts(tape)) return y;
  const trace::Span span(trace::Kind::operation, "adapter");
  QUERN_CHECK(pair_ || !tape.recording(), "rows choose adapters in inference only");
  if (!pair_ || (!tape.recording() && pair_->factors.defined())) {
    add_fixed(tape, begin == 0 && y.dim(1) == n() ? y.value : y.value.narrow(1, begin, n()), x_TK.value);
    return y;
  }
  const std::vector<grad::Var> inputs = {y, x_TK, tape.param(pair_->a_RK), tape.param(pair_->b_NR)};  // values settle
  const Tensor y_TN = begin == 0 && y.dim(1) == n() ? y.value : y.value.narrow(1, begin, n());
  const uint64_t draw = pair_->dropout > 0 && pair_->draw ? *pair_->draw : 0;
  Tensor x = x_TK.value;
  if (draw != 0) drop(*pair_, draw, x = x.clone());
  Tensor low_TR = reduced(*pair_, x);
  expand_into(*pair_, low_TR, y_TN);
  x = x_TK.value;
  return tape.record(y.value, inputs, [pair = pair_, x, low_TR, draw, begin](grad::Grads& g) {
    const LowRankPair& p = *pair;
    const int64_t T = x.dim(0), N = p.b_NR.shape[0], R = p.a_RK.shape[0];
    const Tensor gy = g.out(), own = gy.dim(1) == N ? gy : gy.narrow(1, begin, N);
    const auto gy_TN = own.view<const float, 2>();
    Tensor u_TR = Tensor::empty({T, R}, DType::f32);
    kernels::gemm<float>(gy_TN, p.b_NR.value.view<const float, 2>(), u_TR.view<float, 2>());
    for (float& v : u_TR.span<float>()) v *= static_cast<float>(p.scale);
    if (g.wants(3))  // the scale is in low already
      kernels::gemm<float>(gy_TN, low_TR.view<const float, 2>(), g.accumulator(3).view<float, 2>(),
                           {.trans_a = true, .beta = 1});
    if (g.wants(2)) {
      Tensor seen = draw != 0 ? x.clone() : x;
      if (draw != 0) drop(p, draw, seen);
      kernels::gemm<float>(u_TR.view<const float, 2>(), seen.view<const float, 2>(),
                           g.accumulator(2).view<float, 2>(), {.trans_a = true, .beta = 1});
    }
    if (g.wants(1)) {
      Tensor gx = Tensor::empty(x.shape(), DType::f32);
      kernels::gemm<float>(u_TR.view<const float, 2>(), p.a_RK.value.view<const float, 2>(), gx.view<float, 2>());
      if (draw != 0) drop(p, draw, gx);
      g.add(1, gx);
    }
    g.add(0, gy);
  });
}

grad::Var LowRank::alone(grad::Tape& tape, const grad::Var& x_TK) const {
  return beside(tape, Tensor::zeros({x_TK.dim(0), n()}, DType::f32), x_TK);
}

}  // namespace quern::nn
