// The head loss by the defining equations, token by token, in double.
//   loss = Σ_t a_t·nll_t, a_t = weight_t / Σ weight;   g_logit = g_loss·a_t·(p − onehot)
//   gh_t = g_logit·W,  gW += g_logitᵀ·h_t,  gbias += g_logit
// h: [T, D], W: [V, D]. Cost: 2·T·V·D flops forward, twice that again for the gradients.
#include "quern/kernels/cross_entropy/cross_entropy_ref.h"

#include <algorithm>
#include <cmath>

namespace quern::kernels {

template <class T>
double head_cross_entropy_ref(const HeadLoss<T>& in, double g_loss, HeadLossGrads<T> grads, View<T, 1> token_loss,
                              Arena& scratch) {
  const int64_t n = in.h.shape[0], d = in.h.shape[1], vocab = in.w.vocab();
  auto weight = [&](int64_t t) {
    if (in.targets[static_cast<size_t>(t)] < 0) return 0.0;
    return in.weight ? static_cast<double>(in.weight(t)) : 1.0;
  };
  double total = 0, loss = 0;
  for (int64_t t = 0; t < n; ++t) total += weight(t);
  Arena::Scope scope(scratch);
  const View<const T, 2> w = in.w.whole(scratch);
  double* logit = scratch.take<double>(vocab).data();
  for (int64_t t = 0; t < n; ++t) {
    const int32_t target = in.targets[static_cast<size_t>(t)];
    const double a = total == 0 ? 0 : weight(t) / total;
    if (token_loss) token_loss(t) = 0;
    if (grads.gh)
      for (int64_t c = 0; c < d; ++c) grads.gh(t, c) = 0;
    if (target < 0) continue;
    for (int64_t v = 0; v < vocab; ++v) {
      logit[v] = in.bias ? static_cast<double>(in.bias(v)) : 0;
      for (int64_t c = 0; c < d; ++c) logit[v] += static_cast<double>(in.h(t, c)) * static_cast<double>(w(v, c));
    }
    double max = *std::max_element(logit, logit + vocab), sum = 0;
    for (int64_t v = 0; v < vocab; ++v) sum += std::exp(logit[v] - max);
    double lse = max + std::log(sum), nll = lse - logit[target];
    if (token_loss) token_loss(t) = static_cast<T>(nll);
    loss += a * nll;
    if (!grads.gh) continue;
    for (int64_t v = 0; v < vocab; ++v) {
      double g = g_loss * a * (std::exp(logit[v] - lse) - (v == target ? 1 : 0));
      for (int64_t c = 0; c < d; ++c) {
        grads.gh(t, c) += static_cast<T>(g * static_cast<double>(w(v, c)));
        if (grads.gw) grads.gw(v, c) += static_cast<T>(g * static_cast<double>(in.h(t, c)));
      }
      if (grads.gbias) grads.gbias(v) += static_cast<T>(g);
    }
  }
  return loss;
}

template double head_cross_entropy_ref<float>(const HeadLoss<float>&, double, HeadLossGrads<float>, View<float, 1>,
                                              Arena&);
template double head_cross_entropy_ref<double>(const HeadLoss<double>&, double, HeadLossGrads<double>,
                                               View<double, 1>, Arena&);

}  // namespace quern::kernels
