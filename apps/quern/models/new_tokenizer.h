// A byte-level BPE tokenizer trained on generated text, with the special token ids that ZAYA and Llama folders expect,
// and every file Hugging Face looks for.
#pragma once
#include <cstdint>
#include <filesystem>

#include "quern/text/tokenizer/bpe_train.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::cli {

constexpr const char* kPad = "<pad>";
constexpr const char* kEnd = "<|im_end|>";
constexpr const char* kStart = "<|im_start|>";
constexpr const char* kBegin = "<bos>";

text::BpeTrainOptions tokenizer_options(int64_t vocab_size);
void save_tokenizer_files(const std::filesystem::path& folder, const std::string& tokenizer_json);

// Writes tokenizer.json, tokenizer_config.json and chat_template.jinja; returns the tokenizer.
text::Tokenizer make_tokenizer(const std::filesystem::path& folder, int64_t vocab_size);

}  // namespace quern::cli
