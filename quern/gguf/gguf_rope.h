// Rotary settings of a GGUF file as config.json's rope_parameters.
#pragma once
#include "quern/gguf/gguf_metadata.h"

namespace quern::gguf {

// Whether rope.dimension_count may be less than a head; partial_rotary_factor then says which share it is.
enum class RotatedHead { whole, part };

// head_dim: of an attention head.
Json rope_parameters(GgufMetadata& m, int64_t head_dim, RotatedHead head = RotatedHead::whole);

}  // namespace quern::gguf
