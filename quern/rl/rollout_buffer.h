// Rollouts between sampling and learning, as checkpoints keep them.
#pragma once
#include "quern/base/json.h"
#include "quern/rl/environments.h"
#include "quern/rl/rollout_sampler.h"

namespace quern::rl {

// Problems are made again from their environments: throws Error for a state that names none of them, or whose problem is
// another one now.
Json to_json(const RolloutGroup& group);
RolloutGroup rollout_group(const Json& j, const Environments& environments);

Json to_json(const GroupUnderWay& at);
GroupUnderWay group_under_way(const Json& j, const Environments& environments);

}  // namespace quern::rl
