// Log-probabilities of a prompt's own tokens, for requests with score_prompt.
#pragma once
#include "quern/infer/engine/step_plan.h"
#include "quern/models/model.h"

namespace quern::infer {

// After the forward pass: those that the segment's rows predict. hidden: of the whole batch; the segment's rows begin
// at `first_row`.
void score_prompt(models::Model& model, const StepSegment& segment, const Tensor& hidden, int64_t first_row);

}  // namespace quern::infer
