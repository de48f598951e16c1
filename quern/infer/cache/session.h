// Session: one sequence decoded by hand. Tokens go in, the logits after the last one come out. Requests are served by
// Engine instead.
#pragma once
#include <cstdint>
#include <span>

#include "quern/models/model.h"

namespace quern::infer {

class Session {
 public:
  // kv: KV cache type (f32, bf16, or i8: int8 with scales). The model must outlive the session.
  Session(models::Model& model, DType kv = DType::f32);
  // Feeds tokens in chunks of at most `chunk` and returns the logits [V] after the last one. Throws Error when the
  // context would pass the model's limit; the session is then unchanged.
  std::span<const float> feed(std::span<const int32_t> tokens, int64_t chunk = 512);
  int64_t length() const { return state_.length(); }
  mixers::SequenceState& state() { return state_; }
  const mixers::SequenceState& state() const { return state_; }

 private:
  models::Model* model_;
  mixers::SequenceState state_;
  Tensor logits_;
};

// All logits [T, V] of a sequence, in f32, computed from an empty state.
Tensor all_logits(models::Model& model, std::span<const int32_t> tokens);

}  // namespace quern::infer
