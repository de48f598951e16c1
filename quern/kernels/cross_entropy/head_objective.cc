// The fast version: a chunk's logits by one matrix product; log p of its targets row by row; the objective, token after
// token; then the rows become gradients in place, and two more products carry them to h and W. Cost: as the head loss,
// and one more pass of exponentials.
#include "quern/kernels/cross_entropy/head_objective.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/kernels/cross_entropy/cross_entropy_simd.h"
#include "quern/kernels/dispatch.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::kernels {
namespace {

struct Chunk {
  View<float, 2> logits;
  std::span<const int32_t> targets;
  std::span<float> value;  // of each row: −log p, then what its gradient is scaled by
};

template <class F>
void each_target(const Chunk& c, F&& f) {
  parallel_for(c.logits.shape[0], grain_rows(c.logits.shape[1]), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      if (c.targets[static_cast<size_t>(r)] >= 0) f(r, c.targets[static_cast<size_t>(r)]);
  });
}

void negative_logprobs(const LossTable& table, const Chunk& c, float by) {
  const int64_t vocab = c.logits.shape[1];
  each_target(c, [&](int64_t r, int64_t target) {
    float* row = c.logits.row(r);
    if (by != 1) {
#pragma omp simd
      for (int64_t v = 0; v < vocab; ++v) row[v] *= by;
    }
    c.value[static_cast<size_t>(r)] = table.row({row, nullptr, vocab, target, 0, false});
  });
}

// Logits become gradients; rows without a target, or with slope 0, become zero.
void gradient_rows(const LossTable& table, const Chunk& c) {
  const int64_t vocab = c.logits.shape[1];
  parallel_for(c.logits.shape[0], grain_rows(vocab), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t target = c.targets[static_cast<size_t>(r)];
      const float scale = c.value[static_cast<size_t>(r)];
      if (target < 0 || scale == 0)
        std::fill_n(c.logits.row(r), vocab, 0.0f);
      else
        table.row({c.logits.row(r), nullptr, vocab, target, scale, true});
    }
  });
}

double head_objective_fast(const LossTable& table, const HeadObjective<float>& in, const TokenObjective& f,
                           double g_loss, HeadLossGrads<float> grads, Arena& scratch) {
  const int64_t n = in.h.shape[0], vocab = in.w.vocab();
  const int64_t most = std::clamp<int64_t>(in.chunk_bytes / (vocab * 4), 1, std::max<int64_t>(1, n));
  const float by = static_cast<float>(1 / in.temperature);
  Arena::Scope scope(scratch);
  float* buffer = scratch.take<float>(most * vocab).data();
  std::span<float> values = scratch.take<float>(most);
  double loss = 0;
  for (int64_t begin = 0; begin < n; begin += most) {
    const int64_t end = std::min(n, begin + most), rows = end - begin;
    const auto first = static_cast<size_t>(begin), count = static_cast<size_t>(rows);
    const Chunk c{{buffer, {rows, vocab}}, in.targets.subspan(first, count), values.first(count)};
    bool moves = false;
    if (std::any_of(c.targets.begin(), c.targets.end(), [](int32_t t) { return t >= 0; })) {
      in.w.logits(in.h.slice(begin, end), c.logits, {.bf16 = in.bf16}, scratch);
      negative_logprobs(table, c, by);
      for (size_t r = 0; r < count; ++r) {
        if (c.targets[r] < 0) continue;
        const TokenTerm term = f(begin + static_cast<int64_t>(r), -static_cast<double>(c.value[r]));
        loss += term.loss;
        c.value[r] = static_cast<float>(-g_loss * term.slope / in.temperature);
        moves = moves || c.value[r] != 0;
      }
    }
    if (!grads.gh) continue;
    if (!moves) {
      for (int64_t t = begin; t < end; ++t) std::fill_n(grads.gh.row(t), in.h.shape[1], 0.0f);
      continue;
    }
    gradient_rows(table, c);
    in.w.input_gradient(c.logits, grads.gh.slice(begin, end), {.bf16 = in.bf16}, scratch);
    if (grads.gw)
      gemm<float>(c.logits, in.h.slice(begin, end), grads.gw, {.trans_a = true, .beta = 1, .bf16 = in.bf16});
  }
  return loss;
}

}  // namespace

template <class T>
double head_objective(const HeadObjective<T>& in, const TokenObjective& f, double g_loss, HeadLossGrads<T> grads,
                      Arena& scratch) {
  const int64_t n = in.h.shape[0], d = in.h.shape[1], vocab = in.w.vocab();
  QUERN_CHECK(in.w.width() == d && static_cast<int64_t>(in.targets.size()) == n && in.temperature > 0,
              "h [{}, {}], w [{}, {}], {} targets, temperature {}", n, d, vocab, in.w.width(), in.targets.size(),
              in.temperature);
  for (int32_t t : in.targets) QUERN_CHECK(t < vocab, "target {} in a vocabulary of {}", t, vocab);
  if constexpr (std::is_same_v<T, float>)
    if (const LossTable* table = fast_table(cross_entropy_avx2, cross_entropy_avx512))
      return head_objective_fast(*table, in, f, g_loss, grads, scratch);
  return head_objective_ref(in, f, g_loss, grads, scratch);
}

template double head_objective<float>(const HeadObjective<float>&, const TokenObjective&, double,
                                      HeadLossGrads<float>, Arena&);
template double head_objective<double>(const HeadObjective<double>&, const TokenObjective&, double,
                                       HeadLossGrads<double>, Arena&);

}  // namespace quern::kernels
