// What is refused before the first rollout is sampled. All throw Error naming the phase and the field.
#pragma once
#include "quern/rl/environments.h"
#include "quern/rl/rollout_sampler.h"
#include "quern/train/recipe/recipe.h"

namespace quern::rl {

// Before anything is loaded: unknown environments, task files that cannot be read, a model without tokenizer or end token, a KL to a model that is not
// there.
void check_rollouts(const train::Recipe& recipe);

// sequence_length must not exceed the model's positions, and must have room for an answer to the easiest problems: problems
// that are too long lower the difficulty, until there are no easier ones.
void check_room(const train::PhaseConfig& p, int64_t positions, const RolloutSampler& sampler,
                const Environments& environments);

}  // namespace quern::rl
