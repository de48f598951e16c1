// GGUF files of architecture nemotron_h as Hugging Face folders: every layer is a Mamba-2, an attention without positions
// or a feed-forward.
#pragma once
#include "quern/gguf/gguf_metadata.h"
#include "quern/gguf/gguf_tensors.h"

namespace quern::gguf {

Json nemotron_h_config(GgufMetadata& m);
void nemotron_h_tensors(GgufTensors& t, const Json& config);

}  // namespace quern::gguf
