// A GGUF file of a random Llama model (two layers, Q8_0) that has a tokenizer, for pages that run `model.gguf`.
#pragma once
#include <filesystem>
#include <string>

namespace quern::docs {

// The tokenizer's metadata are copied from a GGUF file that holds nothing else (tests/goldens/gguf-tokenizers).
void write_tiny_gguf(const std::filesystem::path& file, const std::filesystem::path& tokenizer,
                     const std::string& chat_template);

}  // namespace quern::docs
