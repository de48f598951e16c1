// Two exponentially decaying counts, and a wait that doubles.
#include "quern/infer/speculation/draft_length_policy.h"

#include <algorithm>

namespace quern::infer {

int64_t DraftLengthPolicy::length(int64_t max_draft, double token_cost) {
  const double p = chance();
  int64_t n = 0;
  for (double chance = p; n < max_draft && chance >= token_cost; chance *= p) ++n;
  if (n > 0 || max_draft < 1) return n;
  if (++wait_ < patience_) return 0;
  wait_ = 0;
  return 1;
}

void DraftLengthPolicy::record_acceptance(int64_t drafted, int64_t accepted) {
  constexpr double kMemory = 0.8;  // weight of what was known, at each new draft
  right_ = kMemory * right_ + static_cast<double>(accepted);
  wrong_ = kMemory * wrong_ + (accepted < drafted ? 1 : 0);
  patience_ = accepted > 0 ? kPatience : std::min(2 * patience_, kMaxPatience);
}

DraftLengthPolicy DraftLengthPolicy::for_another() const {
  DraftLengthPolicy b = *this;
  constexpr int64_t kSooner = 32;
  b.wait_ = 0, b.patience_ = std::min(patience_, kSooner);
  return b;
}

}  // namespace quern::infer
