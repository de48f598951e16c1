#include "quern/train/trainer/objective.h"

namespace quern::train {

grad::Var next_token_loss(grad::Tape& tape, models::Model& model, const MicroBatch& b) {
  return model.loss(tape, model.hidden(tape, b.tokens, b.batch), b.targets);
}

}  // namespace quern::train
