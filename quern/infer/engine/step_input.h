// Input of a step's forward pass: the token ids of all segments, drafts included, and the rows whose logits are wanted.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/infer/engine/step_plan.h"

namespace quern {

struct StepInput {
  std::vector<int32_t> ids;
  std::vector<SequenceState*> states;  // per segment
  std::vector<int64_t> lengths;        // the same: its rows
  std::vector<Sequence*> ready;        // sequences whose tokens end in this step: they get logits,
  std::vector<int64_t> wanted;         // in these rows: of the last token, and of every token of the draft
};

StepInput step_input(std::span<const StepSegment> segments);

}  // namespace quern
