// What an answer is worth beside the others of its group (r: rewards, m: their mean, G answers):
//   maxrl     (r − m) / m              the gradient of log pass rate up to order G (arXiv 2602.02710)
//   grpo      (r − m) / deviation      arXiv 2402.03300
//   centered  r − m                    GRPO without the deviation (arXiv 2503.20783)
//   rloo      r − mean of the others   arXiv 2402.14740
// A group whose rewards are all equal is worth nothing to a learner; its advantages are 0.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/train/recipe/rl_config.h"

namespace quern::rl {

std::vector<double> advantages(const std::string& kind, std::span<const double> rewards);
bool has_signal(std::span<const double> rewards);  // not all equal

// Bonus for short right answers of a group (ALP, arXiv 2506.05256; ShortRL, arXiv 2505.12284): weight · success · share,
// where share runs from 1/2 at the shortest right answer to −1/2 at max_tokens. Only for answers with reward 1, in groups
// with at least two of them and a success close to the environment's best so far; 0 for all others.
struct LengthBonus {
  train::LengthBonusConfig config;
  int64_t max_tokens = 0;

  std::vector<double> of(std::span<const double> rewards, std::span<const int64_t> tokens, double best) const;
};
// The bonus as part of advantages: added to the rewards above the line alone, the mean stays that of the task's rewards.
std::vector<double> advantages(const std::string& kind, std::span<const double> rewards,
                               std::span<const double> bonus);

}  // namespace quern::rl
