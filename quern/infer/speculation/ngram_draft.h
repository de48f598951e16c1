// Prompt lookup drafts for speculative decoding: the longest suffix of 4, 3 or 2 tokens that occurred earlier in
// prompt or output is continued as it continued there. A source position that keeps being right is followed, so that a
// copied passage is drafted to its end. One hash table per suffix length holds the latest position: O(1) per token;
// hash collisions are found by comparing tokens. The draft length adapts (draft_length_policy.h), with one policy per
// suffix length and one for sources that were right before. Text without repetitions costs next to nothing.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "quern/infer/speculation/draft_length_policy.h"

namespace quern::infer {

class NgramDraft {
 public:
  explicit NgramDraft(int64_t max_draft);  // maximum draft length; Error outside 1 … kMaxDraftTokens

  // Draft of what follows `tokens`, which extend those of the last call: at most `room` tokens, possibly none.
  // token_cost: of one more token in a step, as a fraction of a step without it.
  std::vector<int32_t> next(std::span<const int32_t> tokens, int64_t room, double token_cost);
  // How many tokens of the last draft, which was not empty, were accepted.
  void record_acceptance(int64_t drafted, int64_t accepted);

 private:
  static constexpr int64_t kShortest = 2, kLongest = 4;
  void read(std::span<const int32_t> tokens);

  int64_t max_draft_;
  std::array<std::unordered_map<uint64_t, int64_t>, kLongest - kShortest + 1>
      after_;  // hash → position after the suffix
  int64_t read_ = 0;
  int64_t source_ = -1;  // position of the token after the earlier suffix; −1: none
  size_t kind_ = 0;      // of the source
  // By kind: one per length of the suffix, the last for sources that were right before.
  std::array<DraftLengthPolicy, kLongest - kShortest + 2> policies_;
};

}  // namespace quern::infer
