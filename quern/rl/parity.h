// How far the policy that samples and the policy that learns are apart, token by token, with the same weights. Answers to
// problems of the gym are sampled by the engine in company, and scored again:
//   fast    by one pass over each whole text, as training reads it; with and without the experts that were recorded
//   exact   by the engine, each answer alone, as importance ratios are formed in exact mode
#pragma once
#include <cstdint>
#include <string>

#include "quern/infer/engine/engine.h"
#include "quern/models/model.h"
#include "quern/nn/registry.h"
#include "quern/text/chat/chat_template.h"

namespace quern::rl {

struct ParityOptions {
  int64_t tokens = 10000;  // sampled tokens to compare, at least
  int64_t company = 16;    // answers that are sampled at once
  int64_t max_tokens = 200, group = 4;
  uint64_t seed = 0;
  std::string environment = "stories";
  kernels::WeightFormat format = kernels::WeightFormat::bf16;  // bf16, or f32
  std::vector<int64_t> stop_ids;
  bool exact = false;
  template <class V>
  void visit(V& v) {
    infer::EngineOptions::visit_max_sequences(v, company);
  }
};

struct Parity {
  int64_t tokens = 0;
  double max_abs_delta_logprob = 0;
  double kl = 0;  // of the sampling policy to the other: mean of e^d − d − 1, d the difference of log-probabilities
  double pearson = 1;  // of the tokens' probabilities
};

struct ParityReport {
  Parity own, replayed;  // fast: the routers choose, or what was recorded is replayed (equal without experts)
  Parity exact;          // in exact mode alone
  double share_routes_differ = 0;  // of the choices of experts: the pass's own against those recorded
};

// `model` has its plain weights.
ParityReport measure_parity(const nn::Registry& registry, models::Model& model, const text::Tokenizer& tokenizer,
                            const text::ChatTemplate& chat_template, const ParityOptions& options);

}  // namespace quern::rl
