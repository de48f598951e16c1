// Converts the tokenizer of a .gguf file to the tokenizer.json it was made from: byte-level BPE (tokenizer.ggml.model
// "gpt2", split by tokenizer.ggml.pre) and SentencePiece BPE ("llama": merges follow from the scores of the pieces).
// Anything else is an Error naming key and value.
#pragma once
#include "quern/tensor/gguf.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::models {

text::Tokenizer gguf_tokenizer(const GgufFile& file);

}  // namespace quern::models
