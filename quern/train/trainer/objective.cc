#include "quern/train/trainer/objective.h"

namespace quern {

Var next_token_loss(Tape& tape, Model& model, const MicroBatch& b) {
  return model.loss(tape, model.hidden(tape, b.tokens, b.batch), b.targets);
}

}  // namespace quern
