// GGUF files of architecture falcon-h1 as Hugging Face folders. The file's weights contain all of the model's factors, so
// that those of config.json are 1.
#pragma once
#include "quern/gguf/gguf_metadata.h"
#include "quern/gguf/gguf_tensors.h"

namespace quern::gguf {

Json falcon_h1_config(GgufMetadata& m);
void falcon_h1_tensors(GgufTensors& t, const Json& config);

}  // namespace quern::gguf
