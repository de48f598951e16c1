// Reports each segment of a forward pass.
#include "quern/serve/host/observed_model.h"

namespace quern::serve {

void ObservedModel::tell(std::span<const int32_t> ids, const mixers::Batch& batch, ForwardTime time) {
  for (size_t s = 0; s < batch.states.size(); ++s) {
    const auto from = static_cast<size_t>(batch.offsets[s]), rows = static_cast<size_t>(batch.offsets[s + 1]) - from;
    const int64_t length = batch.states[s]->length();  // moved on by the forward
    seen_(ids.subspan(from, rows), time == ForwardTime::after ? length - static_cast<int64_t>(rows) : length, time);
  }
}

grad::Var ObservedModel::hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) {
  tell(ids, batch, ForwardTime::before);
  grad::Var h = inner_.hidden(tape, ids, batch);
  tell(ids, batch, ForwardTime::after);
  return h;
}

}  // namespace quern::serve
