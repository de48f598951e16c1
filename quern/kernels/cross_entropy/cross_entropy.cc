// The head loss's entry point: checks of shapes, and which version runs.
#include "quern/kernels/cross_entropy/cross_entropy.h"

#include "quern/base/error.h"
#include "quern/kernels/cross_entropy/cross_entropy_ref.h"

namespace quern::kernels {

template <class T>
double head_cross_entropy(const HeadLoss<T>& in, double g_loss, HeadLossGrads<T> grads, View<T, 1> token_loss,
                          Arena& scratch) {
  const int64_t n = in.h.shape[0], d = in.h.shape[1], vocab = in.w.shape[0];
  QUERN_CHECK(in.w.shape[1] == d && static_cast<int64_t>(in.targets.size()) == n,
              "h [{}, {}], w [{}, {}], {} targets", n, d, vocab, in.w.shape[1], in.targets.size());
  for (int32_t t : in.targets) QUERN_CHECK(t < vocab, "target {} in a vocabulary of {}", t, vocab);
  return head_cross_entropy_ref(in, g_loss, grads, token_loss, scratch);
}

template double head_cross_entropy<float>(const HeadLoss<float>&, double, HeadLossGrads<float>, View<float, 1>,
                                          Arena&);
template double head_cross_entropy<double>(const HeadLoss<double>&, double, HeadLossGrads<double>, View<double, 1>,
                                           Arena&);

}  // namespace quern::kernels
