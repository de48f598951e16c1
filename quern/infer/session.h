// A Session is one sequence being continued: tokens go in, the logits after the last one come out.
// generate() drives it: prompt in chunks, then sampling until a stop id, a limit, or the callback says stop.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quern/infer/sampler.h"
#include "quern/models/model.h"

namespace quern {

class Session {
 public:
  // kv: element type of the attention cache (f32 or bf16). The model must outlive the session.
  Session(Model& model, DType kv = DType::f32);
  // Feeds tokens in chunks of at most `chunk` and returns the logits [V] after the last one. Throws Error when the
  // context would pass the model's limit; the session is then unchanged.
  std::span<const float> feed(std::span<const int32_t> tokens, int64_t chunk = 512);
  int64_t length() const { return state_.length(); }
  SequenceState& state() { return state_; }
  const SequenceState& state() const { return state_; }

 private:
  Model* model_;
  SequenceState state_;
  Tensor logits_;
};

struct GenerateOptions {
  SamplingOptions sampling;
  int64_t max_tokens = 256;
  std::vector<int64_t> stop_ids;
};
struct Generated {
  std::vector<int32_t> tokens;  // stop id not included
  std::vector<double> logprobs;
  std::string finish;  // "stop", "length", "cancelled"
  double prompt_seconds = 0, decode_seconds = 0;
};
// on_token returns false to cancel; it is called between steps and never for the stop id.
Generated generate(Session& session, std::span<const int32_t> prompt, const GenerateOptions& options,
                   const std::function<bool(int32_t)>& on_token = {});

// All logits [T, V] of a sequence, in f32, computed from nothing.
Tensor all_logits(Model& model, std::span<const int32_t> tokens);

}  // namespace quern
