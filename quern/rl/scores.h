// Log-probabilities of rollouts that were sampled before, under a model as it is now.
#pragma once
#include <span>
#include <vector>

#include "quern/infer/engine/engine.h"
#include "quern/models/model.h"
#include "quern/rl/rollouts.h"

namespace quern::rl {

// By one pass over the whole text, as training reads it; the model has its plain weights, or an adapter that learns. `routes`: the experts that were
// recorded, or the routers' own.
enum class Routes : bool { own, replayed };
struct ScoreOptions {
  double temperature = 1;
  Routes routes = Routes::own;
  grad::Precision precision = grad::Precision::f32;  // of large products, as in training
  nn::ExpertRoutes* seen = nullptr;                  // gets the experts of this pass
  bool bare = false;                                 // without the model's adapter
};
std::vector<float> pass_scores(models::Model& model, std::span<const int32_t> prompt,
                               const infer::RolloutRecord& record, const ScoreOptions& options);

// By the engine, token after token, as it would sample them: with EngineOptions::exact the bits of a new rollout. At
// temperature 1. One record for each rollout, in order.
std::vector<infer::RolloutRecord> engine_scores(infer::Engine& engine, std::span<const RolloutGroup> groups);

// The tokens of a rollout as training feeds them: all but the last; `targets` is −1 where the prompt is read.
struct RolloutTokens {
  std::vector<int32_t> tokens, targets;
};
RolloutTokens rollout_tokens(std::span<const int32_t> prompt, std::span<const int32_t> answer);

}  // namespace quern::rl
