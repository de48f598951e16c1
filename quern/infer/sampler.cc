#include "quern/infer/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern {
namespace {

double log_sum_exp(std::span<const float> x, double max) {
  double s = 0;
  for (float v : x) s += std::exp(static_cast<double>(v) - max);
  return max + std::log(s);
}

}  // namespace

void check(const SamplingOptions& o) {
  if (!(o.temperature >= 0)) fail("--temp {}: expected 0 (greedy) or more", o.temperature);
  if (o.top_k < 0) fail("--top-k {}: expected 0 (off) or more", o.top_k);
  if (!(o.top_p > 0 && o.top_p <= 1)) fail("--top-p {}: expected a number in (0, 1]", o.top_p);
  if (!(o.min_p >= 0 && o.min_p <= 1)) fail("--min-p {}: expected a number in [0, 1]", o.min_p);
}

Sampled sample(std::span<const float> logits, const SamplingOptions& o, uint64_t step) {
  QUERN_CHECK(!logits.empty());
  auto best = std::max_element(logits.begin(), logits.end());
  if (!std::isfinite(*best)) fail("the model produced logits that are not numbers; the weights may be damaged");
  double max = *best, lse = log_sum_exp(logits, max);
  if (o.temperature == 0) return {static_cast<int32_t>(best - logits.begin()), max - lse};

  // Candidates in falling order; ties by id. Only as many as top-k asks for are sorted.
  std::vector<int32_t> id(logits.size());
  std::iota(id.begin(), id.end(), 0);
  auto before = [&](int32_t a, int32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; };
  size_t keep = o.top_k > 0 ? std::min(id.size(), static_cast<size_t>(o.top_k)) : id.size();
  if (o.top_k == 0 && (o.top_p < 1 || o.min_p > 0)) {
    // Below e^-25 of the top nothing survives any useful top-p or min-p: partition before sorting.
    auto end =
        std::partition(id.begin(), id.end(), [&](int32_t i) { return (logits[i] - max) / o.temperature > -25; });
    keep = static_cast<size_t>(end - id.begin());
  }
  std::partial_sort(id.begin(), id.begin() + static_cast<std::ptrdiff_t>(keep), id.end(), before);
  id.resize(keep);

  std::vector<double> p(keep);
  for (size_t i = 0; i < keep; ++i) p[i] = std::exp((logits[id[i]] - max) / o.temperature);
  double total = std::accumulate(p.begin(), p.end(), 0.0), kept = 0;
  size_t n = 0;
  while (n < keep && kept < o.top_p * total && p[n] >= o.min_p * p[0]) kept += p[n++];

  double draw = Rng(o.seed, step).uniform() * kept;
  size_t at = 0;
  while (at + 1 < n && draw >= p[at]) draw -= p[at++];
  return {id[at], logits[id[at]] - lse};
}

}  // namespace quern
