// Points inside a segment are those before its end; a snapshot at its end is the sequence's state itself.
#include "quern/infer/engine/step_snapshots.h"

namespace quern::infer {

StepSnapshots::StepSnapshots(const std::vector<StepSegment>& segments, const std::vector<mixers::StateSite>& sites)
    : segments_(segments) {
  for (size_t i = 0; i < segments.size(); ++i) {
    Sequence& s = *segments[i].sequence;
    const int64_t at = s.fed(), end = at + segments[i].rows;
    for (auto p = s.snapshot_points.upper_bound(at); p != s.snapshot_points.end() && p->first < end; ++p) {
      points_.push_back({static_cast<int64_t>(i), p->first - at, nullptr});
      states_.emplace_back(sites);
      states_.back().advance(p->first);
    }
    if (s.ahead) s.ahead->add_rollback_points(s.state, static_cast<int64_t>(i), segments[i].rows, points_);
  }
  auto state = states_.begin();  // now that none of them moves any more
  for (mixers::SnapshotPoint& p : points_)
    if (!p.into) p.into = &*state++;
}

// Deepest first: the others are then positions inside an edge, not edges of their own.
void StepSnapshots::store(PrefixCache& cache) const {
  const auto put = [&](const Sequence& s, const mixers::SequenceState& fixed) {
    if (auto p = s.snapshot_points.find(fixed.length()); p != s.snapshot_points.end())
      cache.store(s.text_until(p->first), s.state, fixed, p->second);
  };
  for (const StepSegment& g : segments_) put(*g.sequence, g.sequence->state);
  for (size_t i = points_.size(); i-- > 0;)
    put(*segments_[static_cast<size_t>(points_[i].segment)].sequence, *points_[i].into);
}

}  // namespace quern::infer
