// The post-processor of tokenizer.json, for one sequence: the ids before and after the text's own. Supported:
// TemplateProcessing (its "single" form), ByteLevel (offsets only, nothing to do here), Sequence.
#pragma once
#include <cstdint>
#include <vector>

#include "quern/base/json.h"

namespace quern::text {

struct PostProcessor {
  std::vector<int32_t> before, after;
  PostProcessor() = default;
  explicit PostProcessor(const Json& j);  // null = nothing around the text
};

}  // namespace quern::text
