// Entry point of the fused head loss and its fast version: the logits of a chunk of tokens by one matrix product, the
// loss and its gradient row by row in place, then gh = G·W and gW += Gᵀ·h by two more. The chunk is the scratch:
// [rows, V]. A chunk without targets is skipped; its gradients are zero. Cost: 2·T·V·D flops, 6·T·V·D with gradients.
#include "quern/kernels/cross_entropy/cross_entropy.h"

#include "quern/base/error.h"
#include "quern/kernels/cross_entropy/cross_entropy_ref.h"
#include "quern/kernels/cross_entropy/cross_entropy_simd.h"
#include "quern/kernels/dispatch.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::kernels {
namespace {

double weight_of(const HeadLoss<float>& in, int64_t t) {
  if (in.targets[static_cast<size_t>(t)] < 0) return 0;
  return in.weight ? static_cast<double>(in.weight(t)) : 1;
}

// Rows of `logits` become gradients (zero where ignored); nll[r] gets the token's loss.
void loss_rows(const LossTable& f, const HeadLoss<float>& in, int64_t begin, double scale, bool gradient,
               View<float, 2> logits, std::span<float> nll) {
  parallel_for(logits.shape[0], grain_rows(logits.shape[1]), [&](int64_t r0, int64_t r1) {
    for (int64_t r = r0; r < r1; ++r) {
      const int64_t t = begin + r, target = in.targets[static_cast<size_t>(t)];
      nll[static_cast<size_t>(r)] = 0;
      if (target < 0)
        std::fill_n(logits.row(r), gradient ? logits.shape[1] : 0, 0.0f);
      else
        nll[static_cast<size_t>(r)] = f.row({logits.row(r), in.bias.data, logits.shape[1], target,
                                             static_cast<float>(scale * weight_of(in, t)), gradient});
    }
  });
}

void add_column_sums(View<const float, 2> g, View<float, 1> out) {
  parallel_for(g.shape[1], kGrainElements / g.shape[0] + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < g.shape[0]; ++r) {
      const float* row = g.row(r);
#pragma omp simd
      for (int64_t c = begin; c < end; ++c) out.data[c] += row[c];
    }
  });
}

double head_cross_entropy_fast(const LossTable& f, const HeadLoss<float>& in, double g_loss,
                               HeadLossGrads<float> grads, View<float, 1> token_loss, Arena& scratch) {
  const int64_t n = in.h.shape[0], d = in.h.shape[1], vocab = in.w.vocab();
  const bool gradient = static_cast<bool>(grads.gh);
  double total = 0, loss = 0;
  for (int64_t t = 0; t < n; ++t) total += weight_of(in, t);
  const double unit = total == 0 ? 0 : 1 / total;
  const int64_t chunk = std::clamp<int64_t>(in.chunk_bytes / (vocab * 4), 1, std::max<int64_t>(1, n));
  Arena::Scope scope(scratch);
  float* buffer = scratch.take<float>(chunk * vocab).data();
  std::span<float> nll = scratch.take<float>(chunk);
  for (int64_t begin = 0; begin < n; begin += chunk) {
    const int64_t end = std::min(n, begin + chunk), rows = end - begin;
    const auto first = in.targets.begin() + begin;
    if (std::all_of(first, first + rows, [](int32_t t) { return t < 0; })) {
      for (int64_t t = begin; t < end; ++t) {
        if (token_loss) token_loss(t) = 0;
        if (gradient) std::fill_n(grads.gh.row(t), d, 0.0f);
      }
      continue;
    }
    View<float, 2> logits(buffer, {rows, vocab});
    const auto h = in.h.slice(begin, end);
    in.w.logits(h, logits, {.bf16 = in.bf16}, scratch);
    loss_rows(f, in, begin, g_loss * unit, gradient, logits, nll);
    for (int64_t t = begin; t < end; ++t) {
      const float value = nll[static_cast<size_t>(t - begin)];
      loss += unit * weight_of(in, t) * static_cast<double>(value);
      if (token_loss) token_loss(t) = value;
    }
    if (!gradient) continue;
    in.w.input_gradient(logits, grads.gh.slice(begin, end), {.bf16 = in.bf16}, scratch);
    if (grads.gw) gemm<float>(logits, h, grads.gw, {.trans_a = true, .beta = 1, .bf16 = in.bf16});
    if (grads.gbias) add_column_sums(logits, grads.gbias);
  }
  return loss;
}

}  // namespace

template <class T>
double head_cross_entropy(const HeadLoss<T>& in, double g_loss, HeadLossGrads<T> grads, View<T, 1> token_loss,
                          Arena& scratch) {
  const int64_t n = in.h.shape[0], d = in.h.shape[1], vocab = in.w.vocab();
  QUERN_CHECK(in.w.width() == d && static_cast<int64_t>(in.targets.size()) == n, "h [{}, {}], w [{}, {}], {} targets",
              n, d, vocab, in.w.width(), in.targets.size());
  for (int32_t t : in.targets) QUERN_CHECK(t < vocab, "target {} in a vocabulary of {}", t, vocab);
  if constexpr (std::is_same_v<T, float>)
    if (const LossTable* f = fast_table(cross_entropy_avx2, cross_entropy_avx512))
      return head_cross_entropy_fast(*f, in, g_loss, grads, token_loss, scratch);
  return head_cross_entropy_ref(in, g_loss, grads, token_loss, scratch);
}

template double head_cross_entropy<float>(const HeadLoss<float>&, double, HeadLossGrads<float>, View<float, 1>,
                                          Arena&);
template double head_cross_entropy<double>(const HeadLoss<double>&, double, HeadLossGrads<double>, View<double, 1>,
                                           Arena&);

}  // namespace quern::kernels
