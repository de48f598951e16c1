// Which ranks sample rollouts and which learn from them: each does both for its share of the rows, or the last ones only
// sample, for the others (rl.samplers).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/rl/environments.h"
#include "quern/rl/rollouts.h"
#include "quern/train/trainer/rank_groups.h"

namespace quern::rl {

class SamplingRanks {
 public:
  // Throws Error naming the field where no rank is left to learn; `where` names the phase.
  SamplingRanks(const train::RankGroups& ranks, int64_t samplers, const std::string& where);

  bool samples() const { return samplers_ == 0 || rank_ >= ranks_ - samplers_; }
  int64_t count() const { return samplers_ == 0 ? ranks_ : samplers_; }                    // of ranks that sample
  int64_t index() const { return samplers_ == 0 ? rank_ : rank_ - (ranks_ - samplers_); }  // of this one among them
  int64_t share(int64_t from, int64_t rows) const;  // of the rows from this one, those that this rank samples
  // What this rank learns of the groups that all have sampled for a step: its own, or those that samplers give it.
  // Collective where some ranks only sample.
  std::vector<RolloutGroup> deal(std::vector<RolloutGroup> mine, const Environments& environments) const;
  // Of the states of all ranks, those of ranks that sample.
  std::vector<std::string> of_samplers(std::vector<std::string> states) const;

 private:
  comm::Communicator& all_;
  int64_t rank_, ranks_, samplers_;
};

}  // namespace quern::rl
