// What training minimizes: the loss of one micro-batch, a mean over what the micro-batch counts (MicroBatch::weight).
// The step's loss is the mean of these by weight, over micro-batches and ranks.
#pragma once
#include <functional>

#include "quern/models/model.h"
#include "quern/train/trainer/batch_source.h"

namespace quern::train {

using Objective = std::function<grad::Var(grad::Tape& tape, models::Model& model, const MicroBatch& batch)>;

// Cross entropy of the targets: pretraining and supervised fine-tuning.
grad::Var next_token_loss(grad::Tape& tape, models::Model& model, const MicroBatch& batch);

}  // namespace quern::train
