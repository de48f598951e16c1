// What a learner needs of an output beside its text: every sampled token, the stop token included, with its log-probability
// under the distribution that it was sampled from, and the experts that every token was routed to.
#pragma once
#include <cstdint>
#include <vector>

#include "quern/infer/sampling/sampler.h"
#include "quern/nn/expert_routes.h"

namespace quern::infer {

struct RolloutRecord {
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  // Of the prompt and of every token but the last, which no pass has read. Positions that came out of the prefix cache
  // are free (ExpertRoutes::kFree). Empty in models without experts.
  nn::ExpertRoutes routes;

  void add(const TokenLogprob& t) { tokens.push_back(t.token), logprobs.push_back(static_cast<float>(t.sampled)); }
  // Rows [row, row + n) of a step are the tokens from `position` on.
  void add_routes(const nn::ExpertRoutes& step, int64_t row, int64_t n, int64_t position) {
    if (step.slots == 0) return;
    routes.slots = step.slots;
    routes.ids.resize(static_cast<size_t>(position * step.slots), nn::ExpertRoutes::kFree);
    routes.append(step, row, n);
  }
};

}  // namespace quern::infer
