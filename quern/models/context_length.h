// How many tokens a model takes. Rotary positions bound it by max_position_embeddings, or more with scaling. A model
// without positions (Zamba, Nemotron-H, Zamba2 and Granite without rotary embeddings) takes any length; what it was
// trained on is then no more than a measure for budgets. quern_context in config.json, which ContextSettings writes, goes
// before both.
#pragma once
#include <cstdint>

#include "quern/models/model.h"

namespace quern::models {

constexpr int64_t kAnyLength = int64_t{1} << 31;  // positions are 32-bit

// max_positions() of a model whose config.json is `source` and whose own limit is `own`.
int64_t accepted_length(const Json& source, int64_t own);
// The length that budgets and clients go by: max_positions(), or the trained length of a model that takes any.
int64_t context_length(const Model& model);
// max_position_embeddings, or its equivalent.
int64_t trained_length(const Model& model);

}  // namespace quern::models
