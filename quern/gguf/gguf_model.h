// Reads a .gguf file as a model: the configuration and tensor names that a Hugging Face folder of the same weights
// would have. Metadata that changes the meaning and is not supported is an Error naming the key and its value.
#pragma once
#include <filesystem>

#include "quern/base/json.h"
#include "quern/tensor/gguf.h"
#include "quern/tensor/safetensors.h"

namespace quern::gguf {

// config.json of the file; begin and end tokens included.
Json read_config(const GgufFile& file);
// Its tensors. Matrices in blocks of bits or in f16 are unpacked to `unpacked` (f32 or bf16) as they are read.
TensorFolder read_weights(const std::shared_ptr<const GgufFile>& file, DType unpacked);

}  // namespace quern::gguf
