// GGUF files of architectures llama (Mistral is stored as one), qwen2 and qwen3 as Hugging Face folders.
#pragma once
#include "quern/gguf/gguf_metadata.h"
#include "quern/gguf/gguf_tensors.h"

namespace quern::gguf {

Json llama_config(GgufMetadata& m);
void llama_tensors(GgufTensors& t, const Json& config);

}  // namespace quern::gguf
