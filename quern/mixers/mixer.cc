#include "quern/mixers/mixer.h"

#include <algorithm>

namespace quern::mixers {

Batch Batch::documents(std::vector<int64_t> lengths) {
  Batch b;
  b.offsets = {0};
  for (int64_t n : lengths) {
    for (int64_t i = 0; i < n; ++i) b.positions.push_back(static_cast<int32_t>(i));
    b.offsets.push_back(b.offsets.back() + static_cast<int32_t>(n));
  }
  return b;
}

Batch Batch::resume(const std::vector<SequenceState*>& states, const std::vector<int64_t>& lengths) {
  QUERN_CHECK(states.size() == lengths.size());
  Batch b = documents(lengths);
  b.states = states;
  for (size_t s = 0; s < states.size(); ++s)
    for (int32_t t = b.offsets[s]; t < b.offsets[s + 1]; ++t)
      b.positions[static_cast<size_t>(t)] += static_cast<int32_t>(states[s]->length());
  return b;
}

std::shared_ptr<const Batch> batch_for(const grad::Tape& tape, const Batch& batch) {
  if (tape.recompute_layers && tape.recording()) return std::make_shared<const Batch>(batch);
  return {std::shared_ptr<const Batch>(), &batch};
}

void snapshot_tails(const Batch& b, int site, std::string_view part, const Tensor& x) {
  for (const SnapshotPoint& c : b.snapshot_points) {
    Tensor to = c.into->fixed(site, part), old = b.states[c.segment]->fixed(site, part);
    if (to.rank() < x.rank()) to = to.reshape({1, -1}), old = old.reshape({1, -1});
    int64_t kept = std::max<int64_t>(0, to.dim(0) - c.rows), fresh = to.dim(0) - kept;
    if (kept > 0) to.narrow(0, 0, kept).copy_from(old.narrow(0, old.dim(0) - kept, kept));
    if (fresh > 0) to.narrow(0, kept, fresh).copy_from(x.narrow(0, b.offsets[c.segment] + c.rows - fresh, fresh));
  }
}

}  // namespace quern::mixers
