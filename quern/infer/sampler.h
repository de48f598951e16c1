// Choosing the next token from a row of logits. Order: temperature, then top-k, top-p, min-p on the probabilities,
// then one draw. Temperature 0 is greedy (lowest id among equals). Same seed and step, same token.
#pragma once
#include <cstdint>
#include <span>

namespace quern {

struct SamplingOptions {
  double temperature = 1;
  int64_t top_k = 0;  // 0 = off
  double top_p = 1;   // 1 = off
  double min_p = 0;   // 0 = off; keeps p ≥ min_p · max p
  uint64_t seed = 0;
};
void check(const SamplingOptions& o);  // throws Error naming the flag

struct Sampled {
  int32_t token = 0;
  double logprob = 0;  // under the untouched distribution
};
Sampled sample(std::span<const float> logits, const SamplingOptions& o, uint64_t step);

}  // namespace quern
