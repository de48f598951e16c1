// Rollouts as micro-batches, and the policy loss over them.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "quern/rl/policy_loss.h"
#include "quern/rl/policy_stats.h"
#include "quern/rl/rollouts.h"
#include "quern/train/trainer/objective.h"

namespace quern::rl {

// A rollout to learn from. The spans are of its answer's tokens, or empty.
struct LearnedRollout {
  const RolloutGroup* group;
  const Rollout* rollout;
  std::vector<float> current = {}, reference = {};
};

// Micro-batches of up to micro_tokens each, in order, every rollout a document of its own. Their losses count by rollouts
// or by tokens (rl.loss.normalize), so that a step's gradient does not depend on how it was cut.
std::vector<train::MicroBatch> policy_batches(std::span<const LearnedRollout> rollouts, const train::RlConfig& c);

// Of micro-batches that policy_batches made. `stats` is added to.
grad::Var policy_loss(grad::Tape& tape, models::Model& model, const train::MicroBatch& batch, PolicyStats& stats);

}  // namespace quern::rl
