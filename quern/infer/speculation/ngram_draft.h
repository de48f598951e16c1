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

namespace quern {

class NgramDraft {
 public:
  explicit NgramDraft(int64_t max_draft);  // tokens of one draft; Error outside 1 … kMaxDraftTokens

  // What may come behind `tokens`, which begin as they did in the last call: at most `room`, perhaps nothing.
  // price: of one more row in a step, as a share of a step without it.
  std::vector<int32_t> next(std::span<const int32_t> tokens, int64_t room, double token_cost);
  // So many tokens of the last draft, which was not empty, came true.
  void record_acceptance(int64_t drafted, int64_t accepted);

 private:
  static constexpr int64_t kShortest = 2, kLongest = 4;
  void read(std::span<const int32_t> tokens);

  int64_t max_draft_;
  std::array<std::unordered_map<uint64_t, int64_t>, kLongest - kShortest + 1> after_;  // hash → what came behind
  int64_t read_ = 0;
  int64_t source_ = -1;  // position of the token that came behind the suffix before; −1: none
  size_t kind_ = 0;      // of the source
  std::array<DraftLengthPolicy, kLongest - kShortest + 2>
      policies_;  // by kinds: the length of the suffix, the last for sources that were right before
};

}  // namespace quern
