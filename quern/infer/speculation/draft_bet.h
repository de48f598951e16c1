// How far to guess is a bet. With p the share of a source's late guesses that came true, the k-th token of a draft is
// used with probability p^k; it is worth its price, as a share of a step, while that is no less. A source that is no
// longer worth one token is silent, and asks again with one after a wait: of 4 chances where the last draft was right
// at least in part, else doubled by every draft that was wrong from its first token on, 8, 16 … 1024.
#pragma once
#include <cstdint>

namespace quern {

class DraftBet {
 public:
  int64_t length(int64_t most, double price);  // of the next draft, which may be none
  void judged(int64_t drafted, int64_t accepted);
  double chance() const { return right_ / (right_ + wrong_); }
  DraftBet for_another() const;  // knows the chances, and is heard again sooner

 private:
  static constexpr int64_t kPatience = 4, kMostPatience = 1024;
  double right_ = 1, wrong_ = 1;             // tokens, the late ones weighing more
  int64_t wait_ = 0, patience_ = kPatience;  // chances since it was last heard, and how many it then lets pass
};

}  // namespace quern
