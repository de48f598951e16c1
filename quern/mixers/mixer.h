// Mixer: interface of sequence mixers (attention and SSM layers), which combine tokens along time. Input and output
// are token rows [T, D] of a ragged batch. Without states a segment starts from nothing; with states it continues
// where its sequence stopped, and the mixer appends what later tokens need. Single-token decoding is the same call
// with segments of one row.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "quern/mixers/row_placement.h"
#include "quern/mixers/state.h"
#include "quern/nn/expert_routes.h"
#include "quern/nn/module.h"

namespace quern::mixers {

// A snapshot of recurrent state inside a segment: after its first `rows` rows.
struct SnapshotPoint {
  int64_t segment, rows;
  SequenceState* into;
};

struct Batch {
  std::vector<int32_t> offsets;        // [segments + 1], rows of each segment (sequence or document)
  std::vector<int32_t> positions;      // [T] absolute, from 0 in every sequence
  std::vector<SequenceState*> states;  // one per segment, or empty (no state in or out; required for training)
  std::vector<SnapshotPoint> snapshot_points;       // in order; only if every recurrent part has snapshots_inside
  RowPlacement placement;                           // of rows and KV caches over ranks
  nn::ExpertRoutes* record_routes = nullptr;        // the model fills it: one entry per row
  const nn::ExpertRoutes* replay_routes = nullptr;  // choices of experts to take instead of the routers' own

  int64_t segments() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t tokens() const { return offsets.back(); }
  void advance_states() const {  // once per forward, after every site was fed
    for (size_t s = 0; s < states.size(); ++s) states[s]->advance(offsets[s + 1] - offsets[s]);
  }
  static Batch documents(std::vector<int64_t> lengths);  // stateless, positions restart in each
  static Batch single(int64_t n_tokens) { return documents({n_tokens}); }
  static Batch resume(const std::vector<SequenceState*>& states, const std::vector<int64_t>& lengths);
};

// For a fixed part that is the newest rows of a stream: fills the batch's cuts from the tails of the states, before
// they are moved on, and the new rows x [T, …].
void snapshot_tails(const Batch& batch, int site, std::string_view part, const Tensor& x);

// For a fixed part that only a kernel moves on: run(first row, rows, batch, into) for stretches that end where a
// snapshot is wanted (into) or the segment does (null). Without cuts that is one call for everything.
template <class F>
void between_snapshots(const Batch& b, F&& run) {
  if (b.snapshot_points.empty()) return run(int64_t{0}, b.tokens(), b, static_cast<SequenceState*>(nullptr));
  auto cut = b.snapshot_points.begin();
  for (int64_t s = 0; s < b.segments(); ++s) {
    int64_t at = 0, n = b.offsets[s + 1] - b.offsets[s];
    auto stretch = [&](int64_t end, SequenceState* into) {
      Batch one;
      one.offsets = {0, static_cast<int32_t>(end - at)};
      one.states = {b.states[s]};
      if (end > at) run(b.offsets[s] + at, end - at, one, into);
      at = end;
    };
    for (; cut != b.snapshot_points.end() && cut->segment == s; ++cut) stretch(cut->rows, cut->into);
    stretch(n, nullptr);
  }
}

// For bodies that a tape may run again: the batch itself, or a copy when it must outlive the caller's.
std::shared_ptr<const Batch> batch_for(const grad::Tape& tape, const Batch& batch);

class Mixer : public nn::Module {
 public:
  virtual StateSpec state_spec(DType kv) const = 0;
  // site: index into the model's sites(), used only with states.
  virtual grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) = 0;
};

}  // namespace quern::mixers
