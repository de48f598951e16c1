// The tokenizer and the chat template of a model folder as GGUF metadata: byte-level BPE whose splitting has a name
// there, and SentencePiece-like BPE with byte fallback, by scores that order its merges. Any other tokenizer stays out
// of the file, and a note says so.
#pragma once
#include <filesystem>

#include "quern/gguf/export/gguf_families.h"

namespace quern::gguf {

void put_vocabulary(GgufSheet& s, const std::filesystem::path& model, const Json& config, int64_t vocab_size,
                    Notes& notes);

}  // namespace quern::gguf
