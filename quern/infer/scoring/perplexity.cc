#include "quern/infer/scoring/perplexity.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/softmax/softmax.h"

namespace quern {
namespace {

constexpr int64_t kLogitRows = 128;  // of a window at a time: 128 × 262K logits are 134 MB

struct Row {
  double nll = 0, reference_nll = 0, kl = 0;
  bool same_top = false;
};

Tensor hidden(Model& m, std::span<const int32_t> window, std::optional<DType> kv) {
  Tape tape(Tape::inference);
  if (kv) {
    SequenceState state(m.sites(*kv));
    state.reserve(static_cast<int64_t>(window.size()));
    return m.hidden(tape, window, Batch::resume({&state}, {static_cast<int64_t>(window.size())})).value;
  }
  return m.hidden(tape, window, Batch::single(static_cast<int64_t>(window.size()))).value;
}

Tensor logits(Model& m, const Tensor& hidden_TD, int64_t begin, int64_t n) {
  Tape tape(Tape::inference);
  return m.logits(tape, Var(hidden_TD.narrow(0, begin, n))).value.to(DType::f32);
}

Tensor log_sum_exp(const Tensor& x) {
  Tensor lse = Tensor::empty({x.dim(0)}, DType::f32);
  kernels::log_sum_exp<float>(x.view<const float, 2>(), lse.view<float, 1>());
  return lse;
}

double kl_divergence(const float* p, double p_lse, const float* q, double q_lse, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    double log_p = static_cast<double>(p[i]) - p_lse;
    if (log_p > -40) sum += std::exp(log_p) * (log_p - (static_cast<double>(q[i]) - q_lse));
  }
  return sum;
}

}  // namespace

Perplexity perplexity(Model& model, std::span<const int32_t> tokens, const PerplexityOptions& options) {
  const int64_t context = options.context;
  Model* const reference = options.reference;
  if (context < 2) fail("context {}: expected at least 2 tokens", context);
  if (context > model.max_positions())
    fail("context {}: this model's limit is {} (max_position_embeddings)", context, model.max_positions());
  if (tokens.size() < 2) fail("the text has {} tokens: at least 2 are needed", tokens.size());
  if (reference && reference->vocab_size() != model.vocab_size())
    fail("the models' vocabularies differ: {} and {}", model.vocab_size(), reference->vocab_size());
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || tokens[i] >= model.vocab_size())
      fail("token {} at position {}: ids run from 0 to {}", tokens[i], i, model.vocab_size() - 1);

  Perplexity r;
  double sum = 0, squares = 0, kl = 0, reference_sum = 0;
  int64_t same = 0, V = model.vocab_size();
  for (size_t at = 0, next = 0; at < tokens.size(); at = next) {
    next = at + 1;
    while (next < tokens.size() && next - at < static_cast<size_t>(context) && tokens[next] != options.begin) ++next;
    auto window = tokens.subspan(at, next - at);
    int64_t n = static_cast<int64_t>(window.size()) - 1;
    if (n < 1) continue;
    Tensor h = hidden(model, window, options.kv), reference_h = reference ? hidden(*reference, window, {}) : Tensor();
    for (int64_t from = 0; from < n; from += kLogitRows) {
      int64_t rows = std::min(kLogitRows, n - from);
      Tensor x = logits(model, h, from, rows), lse = log_sum_exp(x), rx, rlse;
      if (reference) rx = logits(*reference, reference_h, from, rows), rlse = log_sum_exp(rx);
      std::vector<Row> found(static_cast<size_t>(rows));
      parallel_dynamic(rows, [&](int64_t i) {
        Row& f = found[static_cast<size_t>(i)];
        const float* q = x.view<const float, 2>().row(i);
        int32_t target = window[static_cast<size_t>(from + i) + 1];
        f.nll = lse.item(i) - static_cast<double>(q[target]);
        if (!reference) return;
        const float* p = rx.view<const float, 2>().row(i);
        f.reference_nll = rlse.item(i) - static_cast<double>(p[target]);
        f.kl = kl_divergence(p, rlse.item(i), q, lse.item(i), V);
        f.same_top = std::max_element(p, p + V) - p == std::max_element(q, q + V) - q;
      });
      for (const Row& f : found) {
        sum += f.nll, squares += f.nll * f.nll, kl += f.kl, reference_sum += f.reference_nll, same += f.same_top;
        ++r.tokens;
      }
    }
    double count = static_cast<double>(r.tokens);
    r.nll = sum / count;
    r.nll_error = std::sqrt(std::max(0.0, squares / count - r.nll * r.nll) / count);
    r.kl = kl / count, r.reference_nll = reference_sum / count, r.same_top = static_cast<double>(same) / count;
    if (options.progress) options.progress(r);
  }
  return r;
}

}  // namespace quern
