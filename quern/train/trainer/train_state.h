// What learns (a model, or an adapter beside it) and its optimizers as the logical tensors of a checkpoint: every
// parameter under the role "weight", every part of optimizer state under its own. What all ranks hold is stored in even
// shares; what they hold in pieces (zero.h) each stores and reads itself.
#pragma once
#include "quern/models/model.h"
#include "quern/optim/groups.h"
#include "quern/train/checkpoint/reader.h"
#include "quern/train/checkpoint/writer.h"

namespace quern::train {

std::vector<TensorPiece> train_state(nn::Module& learner, optim::OptimizerGroups& optimizer,
                                     const comm::Communicator& comm);
// Returns what the checkpoint lacks: state that starts from zero (another optimizer, a new parameter's moments).
// A missing weight is an Error.
std::vector<std::string> load_train_state(const CheckpointReader& from, nn::Module& learner,
                                          optim::OptimizerGroups& optimizer);

}  // namespace quern::train
