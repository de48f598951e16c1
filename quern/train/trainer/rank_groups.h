// How a run's ranks share the work (recipe, [parallel]): data-parallel groups take different rows of a step; the ranks
// of one group hold the tokens of the same rows (context parallelism). Independent of that, groups of ranks may share
// the experts of every mixture (expert parallelism).
#pragma once
#include <memory>

#include "quern/comm/two_level.h"
#include "quern/train/recipe/recipe.h"

namespace quern::train {

struct RankGroups {
  // Collective. Throws Error naming the field when the ranks cannot be divided so.
  RankGroups(comm::Communicator& comm, const ParallelConfig& parallel);

  comm::Communicator& all;
  std::unique_ptr<comm::TwoLevels> levels;      // of all, where hosts share their ranks; null: sums go in one level
  std::unique_ptr<comm::Communicator> context;  // ranks that share every row; null: rows are whole
  std::unique_ptr<comm::Communicator> experts;  // ranks that share experts; null: every rank has all
  int64_t groups, group;                        // data-parallel groups, and which one this rank belongs to
};

}  // namespace quern::train
