// Rollouts between sampling and learning, as checkpoints keep them.
#pragma once
#include "quern/base/json.h"
#include "quern/rl/rollout_sampler.h"

namespace quern::rl {

// Problems are made again from their environments: throws Error for a state that names none of this build.
Json to_json(const RolloutGroup& group);
RolloutGroup rollout_group(const Json& j);

Json to_json(const GroupUnderWay& at);
GroupUnderWay group_under_way(const Json& j);

}  // namespace quern::rl
