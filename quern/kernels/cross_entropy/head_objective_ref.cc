// g_logit = g_loss·slope·(onehot − p) / temperature;  gh_t = g_logit·W,  gW += g_logitᵀ·h_t.
#include <algorithm>
#include <cmath>

#include "quern/kernels/cross_entropy/head_objective.h"

namespace quern::kernels {

template <class T>
double head_objective_ref(const HeadObjective<T>& in, const TokenObjective& f, double g_loss, HeadLossGrads<T> grads,
                          Arena& scratch) {
  const int64_t n = in.h.shape[0], d = in.h.shape[1], vocab = in.w.vocab();
  double loss = 0;
  Arena::Scope scope(scratch);
  const View<const T, 2> w = in.w.whole(scratch);
  double* logit = scratch.take<double>(vocab).data();
  for (int64_t t = 0; t < n; ++t) {
    const int32_t target = in.targets[static_cast<size_t>(t)];
    if (grads.gh)
      for (int64_t c = 0; c < d; ++c) grads.gh(t, c) = 0;
    if (target < 0) continue;
    for (int64_t v = 0; v < vocab; ++v) {
      logit[v] = 0;
      for (int64_t c = 0; c < d; ++c) logit[v] += static_cast<double>(in.h(t, c)) * static_cast<double>(w(v, c));
      logit[v] /= in.temperature;
    }
    double sum = 0;
    const double max = *std::max_element(logit, logit + vocab);
    for (int64_t v = 0; v < vocab; ++v) sum += std::exp(logit[v] - max);
    const double lse = max + std::log(sum);
    const TokenTerm term = f(t, logit[target] - lse);
    loss += term.loss;
    if (!grads.gh || term.slope == 0) continue;
    for (int64_t v = 0; v < vocab; ++v) {
      const double g = g_loss * term.slope * ((v == target ? 1 : 0) - std::exp(logit[v] - lse)) / in.temperature;
      for (int64_t c = 0; c < d; ++c) {
        grads.gh(t, c) += static_cast<T>(g * static_cast<double>(w(v, c)));
        if (grads.gw) grads.gw(v, c) += static_cast<T>(g * static_cast<double>(in.h(t, c)));
      }
    }
  }
  return loss;
}

template double head_objective_ref<float>(const HeadObjective<float>&, const TokenObjective&, double,
                                          HeadLossGrads<float>, Arena&);
template double head_objective_ref<double>(const HeadObjective<double>&, const TokenObjective&, double,
                                           HeadLossGrads<double>, Arena&);

}  // namespace quern::kernels
