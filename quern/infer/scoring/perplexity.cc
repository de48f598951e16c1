#include "quern/infer/scoring/perplexity.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/softmax/softmax.h"
#include "quern/models/token_ids.h"

namespace quern::infer {
namespace {

constexpr int64_t kLogitRows = 128;  // of a window at a time: 128 × 262K logits are 134 MB

struct Row {
  double nll = 0, reference_nll = 0, kl = 0;
  bool same_top = false;
};

Tensor hidden(models::Model& m, std::span<const int32_t> window, std::optional<DType> kv) {
  grad::Tape tape(grad::Tape::inference);
  if (kv) {
    mixers::SequenceState state(m.sites(*kv));
    state.reserve(static_cast<int64_t>(window.size()));
    return m.hidden(tape, window, mixers::Batch::resume({&state}, {static_cast<int64_t>(window.size())})).value;
  }
  return m.hidden(tape, window, mixers::Batch::single(static_cast<int64_t>(window.size()))).value;
}

Tensor logits(models::Model& m, const Tensor& hidden_TD, int64_t begin, int64_t n) {
  grad::Tape tape(grad::Tape::inference);
  return m.logits(tape, grad::Var(hidden_TD.narrow(0, begin, n))).value.to(DType::f32);
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

void check(const models::Model& model, std::span<const int32_t> tokens, const PerplexityOptions& o) {
  if (o.context < 2) fail("context {}: expected at least 2 tokens", o.context);
  if (o.context > model.max_positions())
    fail("context {}: this model's limit is {} (max_position_embeddings)", o.context, model.max_positions());
  if (tokens.size() < 2) fail("the text has {} tokens: at least 2 are needed", tokens.size());
  if (o.reference && o.reference->vocab_size() != model.vocab_size())
    fail("the models' vocabularies differ: {} and {}", model.vocab_size(), o.reference->vocab_size());
  models::check_token_ids(tokens, model.vocab_size());
}

// Token after which the window that begins at `at` ends.
size_t window_end(std::span<const int32_t> tokens, size_t at, const PerplexityOptions& o) {
  size_t end = at + 1;
  while (end < tokens.size() && end - at < static_cast<size_t>(o.context) && tokens[end] != o.begin) ++end;
  return end;
}

// What one model says of rows [from, from + n) of a window.
struct Predictions {
  Tensor x, lse;
  Predictions() = default;
  Predictions(models::Model& m, const Tensor& hidden_TD, int64_t from, int64_t n)
      : x(logits(m, hidden_TD, from, n)), lse(log_sum_exp(x)) {}
  const float* row(int64_t i) const { return x.view<const float, 2>().row(i); }
  double nll(int64_t i, int32_t target) const { return lse.item(i) - static_cast<double>(row(i)[target]); }
};

// targets: the token that follows each row. reference: undefined tensors without a reference model.
std::vector<Row> compare(const Predictions& model, const Predictions& reference, std::span<const int32_t> targets) {
  std::vector<Row> found(targets.size());
  parallel_dynamic(std::ssize(targets), [&](int64_t i) {
    Row& f = found[static_cast<size_t>(i)];
    const int32_t target = targets[static_cast<size_t>(i)];
    f.nll = model.nll(i, target);
    if (!reference.x.defined()) return;
    f.reference_nll = reference.nll(i, target);
    const float *q = model.row(i), *p = reference.row(i);
    const int64_t V = model.x.dim(1);
    f.kl = kl_divergence(p, reference.lse.item(i), q, model.lse.item(i), V);
    f.same_top = std::max_element(p, p + V) - p == std::max_element(q, q + V) - q;
  });
  return found;
}

struct Sums {
  double nll = 0, squares = 0, kl = 0, reference_nll = 0;
  int64_t same_top = 0, tokens = 0;
  void add(const Row& f) {
    nll += f.nll, squares += f.nll * f.nll, kl += f.kl, reference_nll += f.reference_nll, same_top += f.same_top;
    ++tokens;
  }
  Perplexity means() const {
    const auto count = static_cast<double>(tokens);
    Perplexity r{.tokens = tokens, .nll = nll / count};
    r.nll_error = std::sqrt(std::max(0.0, squares / count - r.nll * r.nll) / count);
    r.kl = kl / count, r.reference_nll = reference_nll / count, r.same_top = static_cast<double>(same_top) / count;
    return r;
  }
};

}  // namespace

Perplexity perplexity(models::Model& model, std::span<const int32_t> tokens, const PerplexityOptions& options) {
  check(model, tokens, options);
  models::Model* const reference = options.reference;
  Perplexity r;
  Sums sums;
  for (size_t at = 0, next = 0; at < tokens.size(); at = next) {
    next = window_end(tokens, at, options);
    const auto window = tokens.subspan(at, next - at);
    const int64_t n = std::ssize(window) - 1;
    if (n < 1) continue;
    const Tensor h = hidden(model, window, options.kv);
    const Tensor reference_h = reference ? hidden(*reference, window, {}) : Tensor();
    for (int64_t from = 0; from < n; from += kLogitRows) {
      const int64_t rows = std::min(kLogitRows, n - from);
      const auto targets = window.subspan(static_cast<size_t>(from) + 1, static_cast<size_t>(rows));
      const Predictions here(model, h, from, rows);
      const Predictions there = reference ? Predictions(*reference, reference_h, from, rows) : Predictions();
      for (const Row& f : compare(here, there, targets)) sums.add(f);
    }
    r = sums.means();
    if (options.progress) options.progress(r);
  }
  return r;
}

}  // namespace quern::infer
