// A model wrapper that reports, before and after every forward pass, which tokens of which sequences it processes. It
// lets the server report prefill progress without changes to the engine.
#pragma once
#include <functional>

#include "quern/models/model_wrapper.h"

namespace quern {

enum class ForwardTime { before, after };

class ObservedModel final : public ModelWrapper {
 public:
  // A stretch of one sequence: its tokens, and the position of the first of them.
  using Seen = std::function<void(std::span<const int32_t> ids, int64_t at, ForwardTime time)>;
  ObservedModel(Model& model, Seen seen) : ModelWrapper(model), seen_(std::move(seen)) {}

  Var hidden(Tape& tape, std::span<const int32_t> ids, const Batch& batch) override;

 private:
  void tell(std::span<const int32_t> ids, const Batch& batch, ForwardTime time);
  Seen seen_;
};

}  // namespace quern
