// Which rows the next step's forward pass processes: continuous batching with chunked prefill.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "quern/infer/engine/sequence.h"
#include "quern/infer/engine/snapshot_plan.h"

namespace quern::infer {

// One sequence's rows in the batch of a step.
struct StepSegment {
  Sequence* sequence;
  int64_t rows;  // of its tokens; its draft follows
  int64_t drafted() const { return static_cast<int64_t>(sequence->draft().size()); }
  int64_t all_rows() const { return rows + drafted(); }
  // Before the step: its tokens end here, so the logits of what follows are wanted.
  bool ends() const { return rows == sequence->pending(); }
};

// The next token of every sequence that is decoding; then prompts in order of arrival, each up to its next snapshot or
// multiple of chunk, while they fit into one chunk. A sequence marked `alone` has the step for itself. Sequences with the
// same adapters are neighbors.
std::vector<StepSegment> plan_step(std::span<const std::unique_ptr<Sequence>> running, const SnapshotRules& rules);

bool all_decoding(std::span<const StepSegment> segments);
int64_t total_rows(std::span<const StepSegment> segments);  // drafts included

// Input of the forward pass: the token ids of all segments, drafts included, and the rows whose logits are wanted.
struct StepInput {
  std::vector<int32_t> ids;
  std::vector<mixers::SequenceState*> states;  // per segment
  std::vector<int64_t> lengths;                // the same: its rows
  std::vector<Sequence*> ready;                // sequences whose tokens end in this step: they get logits,
  std::vector<int64_t> wanted;                 // in these rows: of the last token, and of every token of the draft
  nn::BatchAdapters adapters;                  // of all rows
};

StepInput step_input(std::span<const StepSegment> segments);

}  // namespace quern::infer
