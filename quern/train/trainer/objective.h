// What training minimizes: the loss of one micro-batch, a mean over what the micro-batch counts (MicroBatch::weight).
// The step's loss is the mean of these by weight, over micro-batches and ranks.
#pragma once
#include <functional>

#include "quern/models/model.h"
#include "quern/train/trainer/batch_source.h"

namespace quern {

using Objective = std::function<Var(Tape& tape, Model& model, const MicroBatch& batch)>;

// Cross entropy of the targets: pretraining and supervised fine-tuning.
Var next_token_loss(Tape& tape, Model& model, const MicroBatch& batch);

}  // namespace quern
