#include "quern/rl/sampling_ranks.h"

#include <algorithm>
#include <utility>

#include "quern/base/error.h"
#include "quern/rl/rollout_buffer.h"

namespace quern::rl {

SamplingRanks::SamplingRanks(const train::RankGroups& ranks, int64_t samplers, const std::string& where)
    : all_(ranks.all), rank_(ranks.group), ranks_(ranks.groups), samplers_(samplers) {
  if (samplers_ >= ranks_ && samplers_ > 0)
    fail("{}, rl.samplers: {} of {} ranks sample for the others, so none learns: start {} ranks or more", where,
         samplers_, ranks_, samplers_ + 1);
}

int64_t SamplingRanks::share(int64_t from, int64_t rows) const {
  if (!samples()) return 0;
  const auto before = [&](int64_t row) { return (row - index() + count() - 1) / count(); };
  return before(from + rows) - before(from);
}

std::vector<RolloutGroup> SamplingRanks::deal(std::vector<RolloutGroup> mine,
                                              const Environments& environments) const {
  if (samplers_ == 0) return mine;
  Json sampled = Json::array();
  for (const RolloutGroup& g : mine) sampled.push(to_json(g));
  std::vector<Json> all;
  size_t most = 0;
  for (const std::string& text : of_samplers(all_.all_gather_text(sampled.dump()))) {
    all.push_back(Json::parse(text));
    most = std::max(most, all.back().as_array().size());
  }
  std::vector<RolloutGroup> out;
  int64_t k = 0;
  for (size_t i = 0; i < most; ++i)
    for (const Json& one : all) {
      if (i >= one.as_array().size()) continue;
      if (k++ % (ranks_ - samplers_) == rank_) out.push_back(rollout_group(one.as_array()[i], environments));
    }
  return out;
}

std::vector<std::string> SamplingRanks::of_samplers(std::vector<std::string> states) const {
  states.erase(states.begin(), states.end() - count());
  return states;
}

}  // namespace quern::rl
