// Snapshots that one step takes: the points that its forward pass fills, and what then goes into the prefix cache.
#pragma once
#include <vector>

#include "quern/infer/cache/prefix_cache.h"
#include "quern/infer/engine/step_plan.h"

namespace quern::infer {

class StepSnapshots {
 public:
  // Before the forward pass. `segments` must outlive it.
  StepSnapshots(const std::vector<StepSegment>& segments, const std::vector<mixers::StateSite>& sites);
  const std::vector<mixers::SnapshotPoint>& points() const { return points_; }  // the rollback points of drafts too
  void store(PrefixCache& cache) const;                                         // after it

 private:
  const std::vector<StepSegment>& segments_;
  std::vector<mixers::SnapshotPoint> points_;
  std::vector<mixers::SequenceState> states_;
};

}  // namespace quern::infer
