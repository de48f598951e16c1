// Rollouts: groups of sampled answers to problems of the gym, and what they earned.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/gym/environment_registry.h"
#include "quern/infer/engine/rollout_record.h"

namespace quern::rl {

// The tokens from `token` on were sampled by the weights of this version.
struct WeightSpan {
  int64_t token = 0, version = 0;
  bool operator==(const WeightSpan&) const = default;
};

struct Rollout {
  infer::RolloutRecord record;
  std::vector<WeightSpan> weights;  // more than one where the weights changed while the answer was under way
  double reward = 0, advantage = 0;
  std::string text, reason;  // the answer, and why it earned what it earned
  bool finished = false;     // it ended before the limit
  bool repeats = false;      // it repeats itself: no reward, whatever it answers
};

struct RolloutGroup {
  const gym::NamedEnvironment* environment = nullptr;
  gym::Problem problem;
  uint64_t problem_seed = 0;
  std::vector<int32_t> prompt;
  bool aggregates = false;  // the prompt shows the ends of earlier answers
  int64_t version = 0;      // of the oldest weights that sampled any of its tokens
  std::vector<Rollout> rollouts;

  std::vector<double> rewards() const;
  double mean_reward() const;
  double share_solved() const;  // of answers with reward 1
};

}  // namespace quern::rl
