// GGUF files of architectures llama (Mistral is stored as one), qwen2 and qwen3 as Hugging Face folders.
#pragma once
#include "quern/models/gguf/gguf_metadata.h"
#include "quern/models/gguf/gguf_tensors.h"

namespace quern::models {

Json gguf_llama_config(GgufMetadata& m);
void gguf_llama_tensors(GgufTensors& t, const Json& config);

}  // namespace quern::models
