// What the bits of a state depend on beyond the model's files: the layout of its parts, the type of the KV cache, the
// instructions that computed it, and how prompts are split into steps. Caches on disk are kept apart by it.
#pragma once
#include <string>
#include <vector>

#include "quern/infer/cache/cache_folder.h"
#include "quern/mixers/state.h"

namespace quern::infer {

// `rounding`: "exact", or how steps are formed.
CacheIdentity state_identity(const std::vector<mixers::StateSite>& sites, DType kv, const std::string& rounding);

}  // namespace quern::infer
