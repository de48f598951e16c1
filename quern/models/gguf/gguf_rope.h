// Rotary settings of a GGUF file as config.json's rope_parameters.
#pragma once
#include "quern/models/gguf/gguf_metadata.h"

namespace quern::models {

// head_dim: of an attention head, all of which is rotated unless `partial` lets rope.dimension_count name a part; then
// partial_rotary_factor says which share.
Json gguf_rope(GgufMetadata& m, int64_t head_dim, bool partial = false);

}  // namespace quern::models
