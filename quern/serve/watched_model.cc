// Telling after the forward, when the tokens have been read.
#include "quern/serve/watched_model.h"

namespace quern {

Var WatchedModel::hidden(Tape& tape, std::span<const int32_t> ids, const Batch& batch) {
  Var h = model_.hidden(tape, ids, batch);
  for (size_t s = 0; s < batch.states.size(); ++s) {
    const auto from = static_cast<size_t>(batch.offsets[s]), end = static_cast<size_t>(batch.offsets[s + 1]);
    seen_(ids.subspan(from, end - from), batch.states[s]->length() - static_cast<int64_t>(end - from));
  }
  return h;
}

}  // namespace quern
