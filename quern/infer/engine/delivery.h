// From a step's logits to the client: tokens are sampled (or forced), compared with the sequence's draft, checked
// against the ends of the output, and passed to on_token.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/infer/engine/sequence.h"
#include "quern/tensor/tensor.h"

namespace quern::infer {

// A sequence's rows of a step's logits: one, and one for each token of its draft.
struct SequenceLogits {
  Sequence* sequence;
  Tensor logits;                             // [rows of all sequences, vocabulary], f32
  int64_t first = 0;                         // of its rows
  std::optional<TokenLogprob> sampled = {};  // from the first of them, already
  std::span<const float> row(int64_t k) const;
};

// The rows of `sequences`, in that order. Where a token depends on nothing but its sampler, all are sampled in parallel.
std::vector<SequenceLogits> split_logits(const std::vector<Sequence*>& sequences, const Tensor& logits);

// Every row predicts its token as a step of its own would, for as long as the draft was right before it. Returns how
// the output ended ("stop", "length", "cancelled"), or null: it goes on, and a rejected rest of the draft is rolled
// back. May throw; the sequence has failed then.
const char* deliver(const SequenceLogits& rows);
// One more token, from its logits or sampled already. Returns the same.
const char* deliver_token(Sequence& s, std::span<const float> logits, const std::optional<TokenLogprob>& sampled);
// The text that was held back until the end.
void deliver_rest(Sequence& s);
// How it ended, and the times.
void complete_result(Sequence& s, const char* how, std::string error);

}  // namespace quern::infer
