// Adaptive draft length for speculative decoding. With p the recent acceptance rate of a draft source, the k-th draft
// token is accepted with probability p^k; it is drafted while p^k is at least its cost as a fraction of a step. A
// source that is not worth one token pauses, then retries with one: after 4 chances if its last draft was partly
// accepted, else after a wait that doubles with every fully rejected draft, 8, 16 … 1024.
#pragma once
#include <cstdint>

namespace quern::infer {

class DraftLengthPolicy {
 public:
  int64_t length(int64_t max_draft, double token_cost);  // of the next draft, 0 for none
  void record_acceptance(int64_t drafted, int64_t accepted);
  double chance() const { return right_ / (right_ + wrong_); }
  DraftLengthPolicy for_another() const;  // keeps the rates, and retries sooner

 private:
  static constexpr int64_t kPatience = 4, kMaxPatience = 1024;
  double right_ = 1, wrong_ = 1;             // accepted and rejected tokens, recent ones weighing more
  int64_t wait_ = 0, patience_ = kPatience;  // chances since the last draft, and how many to let pass
};

}  // namespace quern::infer
