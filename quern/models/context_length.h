// How many tokens a model takes. Rotary positions bound it by max_position_embeddings, or more with scaling. A model
// without positions (Zamba, Nemotron-H, Zamba2 and Granite without rotary embeddings) takes any length; what it was
// trained on is then no more than a measure for budgets. quern_context in config.json, which ContextSettings writes, goes
// before both.
#pragma once
#include <cstdint>

#include "quern/base/error.h"
#include "quern/models/model.h"

namespace quern::models {

constexpr int64_t kAnyLength = int64_t{1} << 31;  // positions are 32-bit

// max_positions() of a model whose config.json is `source` and whose own limit is `own`.
inline int64_t accepted_length(const Json& source, int64_t own) {
  const Json* set = source.is_object() ? source.find("quern_context") : nullptr;
  if (!set || set->is_null()) return own;
  const int64_t n = set->as_int("config.json, quern_context");
  if (n < 1 || n > kAnyLength) fail("config.json, quern_context: {} is outside 1 … {}", n, kAnyLength);
  return n;
}

// max_position_embeddings, or its equivalent.
inline int64_t trained_length(const Model& model) {
  const Json config = model.config();
  const Json* length = config.find("max_position_embeddings");
  return length && !length->is_null() ? length->as_int("config.json, max_position_embeddings") : kAnyLength;
}

// The length that budgets and clients go by: max_positions(), or the trained length of a model that takes any.
inline int64_t context_length(const Model& model) {
  const int64_t limit = model.max_positions();
  return limit < kAnyLength ? limit : trained_length(model);
}

}  // namespace quern::models
