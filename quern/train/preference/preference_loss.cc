#include "quern/train/preference/preference_loss.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "quern/base/error.h"

namespace quern::train {
namespace {

double log_sigmoid(double x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); }
double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

int64_t targets_in(std::span<const int32_t> targets, int32_t begin, int32_t end) {
  int64_t n = 0;
  for (int32_t t = begin; t < end; ++t) n += targets[static_cast<size_t>(t)] >= 0;
  return n;
}

}  // namespace

PairTerm pair_term(const PreferenceConfig& c, const AnswerLogprob& chosen, const AnswerLogprob& rejected) {
  if (c.loss == "ipo") {
    const auto n = static_cast<double>(std::max<int64_t>(1, chosen.tokens)),
               m = static_cast<double>(std::max<int64_t>(1, rejected.tokens));
    const double d = chosen.ratio() / n - rejected.ratio() / m - 1 / (2 * c.beta);
    return {d * d, 2 * d / n, -2 * d / m};
  }
  const double e = c.label_smoothing, z = c.beta * (chosen.ratio() - rejected.ratio());
  const bool robust = c.loss == "robust";
  const double flipped = robust ? -e : e, share = robust ? 1 - 2 * e : 1;
  const double loss = (-(1 - e) * log_sigmoid(z) - flipped * log_sigmoid(-z)) / share;
  const double slope = c.beta * (-(1 - e) * sigmoid(-z) + flipped * sigmoid(z)) / share;
  return {loss, slope, -slope};
}

std::vector<double> document_logprobs(const Tensor& hidden, std::span<const int32_t> targets,
                                      std::span<const int32_t> offsets, grad::Precision precision,
                                      const HeadFunction& head) {
  std::vector<double> sums(offsets.size() - 1, 0.0);
  size_t document = 0;
  const kernels::TokenObjective add = [&](int64_t token, double logprob) {
    while (token >= offsets[document + 1]) ++document;
    sums[document] += logprob;
    return kernels::TokenTerm{};
  };
  grad::Tape tape(grad::Tape::inference, precision);
  head(tape, hidden, {targets, add});
  return sums;
}

grad::Var preference_loss(grad::Tape& tape, const grad::Var& hidden, const PairBatch& b, const PreferenceConfig& c,
                          const HeadFunction& head, PreferenceStats& stats) {
  const size_t documents = b.offsets.size() - 1, pairs = documents / 2;
  QUERN_CHECK(documents % 2 == 0 && b.reference.size() == documents, "{} documents, {} references", documents,
              b.reference.size());
  const std::vector<double> now = document_logprobs(hidden.value, b.targets, b.offsets, tape.precision(), head);
  std::vector<PairTerm> terms;
  const auto answer = [&](size_t d) {
    return AnswerLogprob{now[d], b.reference[d], targets_in(b.targets, b.offsets[d], b.offsets[d + 1])};
  };
  for (size_t p = 0; p < pairs; ++p) {
    const AnswerLogprob chosen = answer(2 * p), rejected = answer(2 * p + 1);
    terms.push_back(pair_term(c, chosen, rejected));
    stats.add(terms.back().loss, c.beta * chosen.ratio(), c.beta * rejected.ratio());
  }
  const double share = 1 / static_cast<double>(pairs);
  size_t document = 0, told = pairs;  // the pair whose loss was counted last: each counts once
  const kernels::TokenObjective f = [&](int64_t token, double) {
    while (token >= b.offsets[document + 1]) ++document;
    const size_t pair = document / 2;
    const PairTerm& t = terms[pair];
    const double loss = std::exchange(told, pair) == pair ? 0 : t.loss;
    return kernels::TokenTerm{share * loss, share * (document % 2 == 0 ? t.chosen : t.rejected)};
  };
  return head(tape, hidden, {b.targets, f});
}

}  // namespace quern::train
