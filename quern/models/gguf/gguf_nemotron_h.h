// GGUF files of architecture nemotron_h as Hugging Face folders: every layer is a Mamba-2, an attention without positions
// or a feed-forward.
#pragma once
#include "quern/models/gguf/gguf_metadata.h"
#include "quern/models/gguf/gguf_tensors.h"

namespace quern::models {

Json gguf_nemotron_h_config(GgufMetadata& m);
void gguf_nemotron_h_tensors(GgufTensors& t, const Json& config);

}  // namespace quern::models
