#include "apps/quern/models/length_note.h"

#include <fmt/format.h>

#include <algorithm>

#include "quern/models/context_length.h"

namespace quern::cli {

LengthNote::LengthNote(std::unique_ptr<models::Model> model, std::string name)
    : ModelWrapper(*model),
      model_(std::move(model)),
      name_(std::move(name)),
      trained_(models::trained_length(*model_)) {}

grad::Var LengthNote::hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) {
  if (!said_ && std::ranges::any_of(batch.positions, [this](int64_t p) { return p >= trained_; })) {
    said_ = true;
    fmt::print(stderr,
               "note: {} has no positions and takes any length; this text is longer than the {} tokens that it was "
               "trained on\n",
               name_, trained_);
  }
  return ModelWrapper::hidden(tape, ids, batch);
}

}  // namespace quern::cli
