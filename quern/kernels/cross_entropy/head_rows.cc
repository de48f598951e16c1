#include "quern/kernels/cross_entropy/head_rows.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::kernels {

template <class T>
double head_rows(const HeadRows<T>& in, const RowsObjectiveOf<T>& f, HeadLossGrads<T> grads, Arena& scratch) {
  const int64_t n = in.h.shape[0], vocab = in.w.vocab();
  QUERN_CHECK(in.w.width() == in.h.shape[1], "h [{}, {}], w [{}, {}]", n, in.h.shape[1], vocab, in.w.width());
  const auto most =
      std::clamp<int64_t>(in.chunk_bytes / (vocab * static_cast<int64_t>(sizeof(T))), 1, std::max<int64_t>(1, n));
  Arena::Scope scope(scratch);
  T* buffer = scratch.take<T>(most * vocab).data();
  double loss = 0;
  for (int64_t begin = 0; begin < n; begin += most) {
    const int64_t end = std::min(n, begin + most);
    const View<T, 2> logits{buffer, {end - begin, vocab}};
    in.w.logits(in.h.slice(begin, end), logits, {.bf16 = in.bf16}, scratch);
    loss += f(begin, logits);
    if (!grads.gh) continue;
    in.w.input_gradient(logits, grads.gh.slice(begin, end), {.bf16 = in.bf16}, scratch);
    if (grads.gw) gemm<T>(logits, in.h.slice(begin, end), grads.gw, {.trans_a = true, .beta = 1, .bf16 = in.bf16});
  }
  return loss;
}

template double head_rows<float>(const HeadRows<float>&, const RowsObjectiveOf<float>&, HeadLossGrads<float>, Arena&);
template double head_rows<double>(const HeadRows<double>&, const RowsObjectiveOf<double>&, HeadLossGrads<double>,
                                  Arena&);

}  // namespace quern::kernels
