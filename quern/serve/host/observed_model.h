// A model wrapper that reports, before and after every forward pass, which tokens of which sequences it processes. It
// lets the server report prefill progress without changes to the engine.
#pragma once
#include <functional>

#include "quern/models/model_wrapper.h"

namespace quern::serve {

enum class ForwardTime { before, after };

class ObservedModel final : public models::ModelWrapper {
 public:
  // A stretch of one sequence: its tokens, and the position of the first of them.
  using Seen = std::function<void(std::span<const int32_t> ids, int64_t at, ForwardTime time)>;
  ObservedModel(models::Model& model, Seen seen) : models::ModelWrapper(model), seen_(std::move(seen)) {}

  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override;

 private:
  void tell(std::span<const int32_t> ids, const mixers::Batch& batch, ForwardTime time);
  Seen seen_;
};

}  // namespace quern::serve
