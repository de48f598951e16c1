// Two exponentially decaying counts, and a wait that doubles.
#include "quern/infer/speculation/draft_bet.h"

#include <algorithm>

namespace quern {

int64_t DraftBet::length(int64_t most, double price) {
  const double p = chance();
  int64_t n = 0;
  for (double chance = p; n < most && chance >= price; chance *= p) ++n;
  if (n > 0 || most < 1) return n;
  if (++wait_ < patience_) return 0;
  wait_ = 0;
  return 1;
}

void DraftBet::judged(int64_t drafted, int64_t accepted) {
  constexpr double kMemory = 0.8;  // weight of what was known, at each new draft
  right_ = kMemory * right_ + static_cast<double>(accepted);
  wrong_ = kMemory * wrong_ + (accepted < drafted ? 1 : 0);
  patience_ = accepted > 0 ? kPatience : std::min(2 * patience_, kMostPatience);
}

DraftBet DraftBet::for_another() const {
  DraftBet b = *this;
  constexpr int64_t kSooner = 32;
  b.wait_ = 0, b.patience_ = std::min(patience_, kSooner);
  return b;
}

}  // namespace quern
