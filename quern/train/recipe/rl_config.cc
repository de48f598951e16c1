#include "quern/train/recipe/rl_config.h"

#include <algorithm>
#include <string_view>

#include "quern/base/error.h"
#include "quern/base/nearest.h"

namespace quern::train {
namespace {

void one_of(const std::string& where, const std::string& value, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), value) != names.end()) return;
  const std::string near = did_you_mean(value, names);
  if (!near.empty()) fail("{}: '{}'{}", where, value, near);
  fail("{}: '{}', expected one of {}", where, value, fmt::join(names, ", "));
}

}  // namespace

void check(const RlConfig& c, const std::string& where) {
  one_of(where + ", rl.advantage", c.advantage, {"maxrl", "grpo", "centered", "rloo"});
  one_of(where + ", rl.loss.kind", c.loss.kind, {"dppo", "dppo_kl", "ppo", "importance", "reinforce"});
  one_of(where + ", rl.loss.normalize", c.loss.normalize, {"rollout", "token"});
  if (c.ahead > 0 && c.updates > 1)
    fail("{}, rl.ahead: {} with rl.updates {}: rollouts are sampled either ahead or in rounds of several updates",
         where, c.ahead, c.updates);
  if (c.max_staleness > 0 && c.ahead == 0)
    fail("{}, rl.max_staleness: {} without rl.ahead: nothing is sampled ahead, so no rollout becomes stale", where,
         c.max_staleness);
  if (c.max_staleness > 0 && c.max_staleness < c.ahead)
    fail("{}, rl.max_staleness: {} is less than rl.ahead {}: no rollout would be young enough", where,
         c.max_staleness, c.ahead);
  if (c.aggregation.share > 0 && c.aggregation.candidates > c.group)
    fail("{}, rl.aggregation.candidates: {} is more than the {} answers of a group (rl.group)", where,
         c.aggregation.candidates, c.group);
  if (c.exact && c.temperature != 1)
    fail("{}, rl.exact: ratios are exact at temperature 1 only, not at {}", where, c.temperature);
}

}  // namespace quern::train
