#include "quern/models/context_length.h"

#include "quern/base/error.h"

namespace quern::models {

int64_t accepted_length(const Json& source, int64_t own) {
  const Json* set = source.is_object() ? source.find("quern_context") : nullptr;
  if (!set || set->is_null()) return own;
  const int64_t n = set->as_int("config.json, quern_context");
  if (n < 1 || n > kAnyLength) fail("config.json, quern_context: {} is outside 1 … {}", n, kAnyLength);
  return n;
}

int64_t trained_length(const Model& model) {
  const Json config = model.config();
  const Json* length = config.find("max_position_embeddings");
  return length && !length->is_null() ? length->as_int("config.json, max_position_embeddings") : kAnyLength;
}

int64_t context_length(const Model& model) {
  const int64_t limit = model.max_positions();
  return limit < kAnyLength ? limit : trained_length(model);
}

}  // namespace quern::models
