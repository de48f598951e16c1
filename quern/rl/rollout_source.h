// The source of a reinforcement-learning phase: its rows are problems, its micro-batches the answers that the model gives
// to them. Each round of sampling refreshes a twin of the trained weights in its form for inference, draws problems at the
// difficulty that each environment has reached, samples a group of answers to each, judges them, and hands out what there
// is to learn in `updates` steps.
//
// Deterministic: a round depends on the weights, the recipe, the problems drawn before and the state that checkpoints
// keep, so a resumed run samples what an undisturbed one would have.
#pragma once
#include <filesystem>

#include "quern/train/trainer/trainer.h"

namespace quern::rl {

// Source and objective for every phase: rollouts and a policy loss where the phase says so, else the recipe's data and
// cross-entropy. RUN/rollouts.jsonl gets a line for every problem. `registry` must outlive the trainer.
train::TrainOptions with_rollouts(train::TrainOptions options, const train::Recipe& recipe,
                                  const nn::Registry& registry);

}  // namespace quern::rl
