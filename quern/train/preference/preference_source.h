// Phases that learn from pairs of answers (a recipe's `preference`): the source hands out pairs in an order drawn anew for
// every pass, with the reference's log-probabilities of both answers; batch_size counts pairs. The evaluation sets that hold
// pairs are evaluated as pairs: loss, reward margin and accuracy.
#pragma once
#include "quern/train/trainer/trainer.h"

namespace quern::train {

// Source and objective for such phases; what was there before serves the others.
TrainOptions with_preferences(TrainOptions options);

}  // namespace quern::train
