// Rollouts between sampling and learning, as checkpoints keep them.
#pragma once
#include <vector>

#include "quern/rl/rollouts.h"

namespace quern::rl {

Json to_json(const std::vector<RolloutGroup>& groups);
// Problems are made again from their environments. Throws Error for a state that names none of this build.
std::vector<RolloutGroup> rollout_groups(const Json& j, const gym::EnvironmentRegistry& environments);

}  // namespace quern::rl
