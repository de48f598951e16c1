// Writes a model as one .gguf file that llama.cpp opens: metadata, tensors in its names and order of rows, the tokenizer
// and the chat template. What models/gguf reads back.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "quern/nn/registry.h"
#include "quern/tensor/gguf_blocks.h"

namespace quern::gguf {

struct GgufExportReport {
  int64_t parameters = 0;
  std::vector<std::string> notes;  // what the file lacks, or what other programs do otherwise
};

// matrices: f32, f16, bf16 or q8_0; vectors, convolutions and routers are f32, and so are matrices whose rows are not
// whole blocks. Throws Error naming the family or field that GGUF files cannot hold.
GgufExportReport export_gguf(const nn::Registry& registry, const std::filesystem::path& model,
                             const std::filesystem::path& file, GgufType matrices);

}  // namespace quern::gguf
