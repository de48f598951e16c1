// Phases that learn from a larger model (a recipe's `distill`): the data are those of the phase; the teacher reads the same
// tokens and its logits at the learned ones are compared with the student's, a chunk of tokens at a time.
#pragma once
#include "quern/nn/registry.h"
#include "quern/train/trainer/trainer.h"

namespace quern::train {

// Source and objective for such phases; what was there before serves the others. The registry outlives them.
TrainOptions with_distillation(TrainOptions options, const nn::Registry& registry);

}  // namespace quern::train
