// What a training step costs and what the machine can do: their ratio is model FLOPs utilization (MFU).
#pragma once
#include "quern/models/model.h"
#include "quern/train/recipe/recipe.h"

namespace quern::train {

// Of forward and backward, a token: three times the large products of a forward over one row of the phase.
double training_flops_per_token(models::Model& model, const Recipe& recipe, size_t phase);
// Of this machine now, in the recipe's type; a few tens of milliseconds. It changes while a run goes on.
double peak_flops(const Recipe& recipe);

}  // namespace quern::train
