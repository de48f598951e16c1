// Masks a row of logits with the constraint's bits.
#include "quern/infer/engine/constrained_sampler.h"

#include <algorithm>
#include <bit>

#include "quern/base/error.h"

namespace quern::infer {

TokenLogprob ConstrainedSampler::next(Sampler& sampler, std::span<const float> logits, uint64_t step,
                                      std::span<const int64_t> stop_ids) {
  if (sampler.greedy()) {
    // The likeliest of all is the likeliest of those allowed, if it is one of them.
    const TokenLogprob t = sampler.next(logits, step);
    const bool ends = std::find(stop_ids.begin(), stop_ids.end(), t.token) != stop_ids.end();
    if (ends ? constraint_->may_end() : constraint_->allows(t.token)) return t;
  }
  constexpr float kBanned = -1e30f;
  const std::span<const uint64_t> bits = constraint_->allowed();
  masked_.assign(logits.size(), kBanned);
  bool any = false;
  for (size_t w = 0; w < bits.size(); ++w)
    for (uint64_t left = bits[w]; left != 0; left &= left - 1)
      if (size_t t = w * 64 + static_cast<size_t>(std::countr_zero(left)); t < logits.size())
        masked_[t] = logits[t], any = true;
  for (int64_t id : stop_ids) {
    if (id < 0 || id >= static_cast<int64_t>(logits.size())) continue;
    const bool may = constraint_->may_end();
    masked_[static_cast<size_t>(id)] = may ? logits[static_cast<size_t>(id)] : kBanned, any = any || may;
  }
  if (!any) fail("no token of this model is allowed by the grammar at this position");
  const TokenLogprob t = sampler.next(masked_, step);
  return {t.token, logprob_of(logits, t.token)};
}

}  // namespace quern::infer
