#include "quern/rl/rollouts.h"

#include <algorithm>
#include <numeric>

namespace quern::rl {

std::vector<double> RolloutGroup::rewards() const {
  std::vector<double> out;
  for (const Rollout& r : rollouts) out.push_back(r.reward);
  return out;
}

double RolloutGroup::mean_reward() const {
  const std::vector<double> r = rewards();
  return r.empty() ? 0 : std::accumulate(r.begin(), r.end(), 0.0) / static_cast<double>(r.size());
}

double RolloutGroup::share_solved() const {
  const auto solved = std::count_if(rollouts.begin(), rollouts.end(), [](const Rollout& r) { return r.reward == 1; });
  return rollouts.empty() ? 0 : static_cast<double>(solved) / static_cast<double>(rollouts.size());
}

}  // namespace quern::rl
