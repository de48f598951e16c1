// Losses of one pair of answers, from the log-probabilities of both under the model that learns and under a reference.
// With Δ = log π − log π_ref of a whole answer, z = β·(Δ_chosen − Δ_rejected), and a share ε of labels that are wrong:
//   dpo      −(1 − ε)·log σ(z) − ε·log σ(−z)                                 arXiv 2305.18290
//   robust   (−(1 − ε)·log σ(z) + ε·log σ(−z)) / (1 − 2ε), unbiased if ε is right     2403.00409
//   ipo      (Δ_chosen / n_chosen − Δ_rejected / n_rejected − 1 / 2β)², n: tokens     2310.12036
// The rewards that such a model has learned are β·Δ.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "quern/nn/ops.h"
#include "quern/train/preference/preference_stats.h"
#include "quern/train/recipe/preference_config.h"

namespace quern::train {

struct AnswerLogprob {
  double policy = 0, reference = 0;  // sums over its tokens
  int64_t tokens = 0;
  double ratio() const { return policy - reference; }
};

struct PairTerm {
  double loss = 0, chosen = 0, rejected = 0;  // the loss, and its slopes by the log-probabilities of the answers
};
PairTerm pair_term(const PreferenceConfig& c, const AnswerLogprob& chosen, const AnswerLogprob& rejected);

// The mean loss of the pairs in a batch: its documents are chosen, rejected, chosen, …; `reference` has one number for each.
// `head` is a model's objective (models/model.h), run twice: the slope of a token is known once its whole pair is. Logits
// exist for a chunk of tokens at a time.
struct PairBatch {
  std::span<const int32_t> targets, offsets;  // offsets: of the documents
  std::span<const double> reference;
};
using HeadFunction = std::function<grad::Var(grad::Tape&, const grad::Var& hidden, const nn::HeadTerms&)>;
grad::Var preference_loss(grad::Tape& tape, const grad::Var& hidden, const PairBatch& pairs,
                          const PreferenceConfig& c, const HeadFunction& head,
                          PreferenceStats& stats);  // stats is added to

// Sums of the targets' log-probabilities by document.
std::vector<double> document_logprobs(const Tensor& hidden, std::span<const int32_t> targets,
                                      std::span<const int32_t> offsets, grad::Precision precision,
                                      const HeadFunction& head);

}  // namespace quern::train
