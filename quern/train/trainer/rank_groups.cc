#include "quern/train/trainer/rank_groups.h"

#include "quern/base/error.h"

namespace quern::train {
namespace {

// Groups of `share` neighboring ranks; null for groups of one.
std::unique_ptr<comm::Communicator> divided(comm::Communicator& comm, const char* field, int64_t share) {
  if (comm.size() % share != 0)
    fail("parallel.{} = {}: {} ranks cannot be divided into groups of so many", field, share, comm.size());
  return share > 1 ? comm.split(comm.rank() / static_cast<int>(share)) : nullptr;
}

// Null where there is one level: a host, or a rank on each.
std::unique_ptr<comm::TwoLevels> two_levels(comm::Communicator& comm, const ParallelConfig& parallel) {
  if (parallel.two_level_from == 0) return nullptr;
  auto levels = std::make_unique<comm::TwoLevels>(comm, comm::host_numbers(comm));
  return levels->two() ? std::move(levels) : nullptr;
}

}  // namespace

RankGroups::RankGroups(comm::Communicator& comm, const ParallelConfig& parallel)
    : all(comm),
      levels(two_levels(comm, parallel)),
      context(divided(comm, "context", parallel.context)),
      experts(divided(comm, "experts", parallel.experts)),
      groups(comm.size() / parallel.context),
      group(comm.rank() / parallel.context) {}

}  // namespace quern::train
