// Converts the tokenizer of a .gguf file to the tokenizer.json it was made from: byte-level BPE (tokenizer.ggml.model
// "gpt2", split by tokenizer.ggml.pre) and SentencePiece BPE ("llama": merges follow from the scores of the pieces).
// Anything else is an Error naming key and value.
#pragma once
#include "quern/tensor/gguf.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::models {

text::Tokenizer gguf_tokenizer(const GgufFile& file);

// Kinds of tokens, as a file numbers them.
enum GgufTokenKind : int32_t {
  kGgufNormal = 1,
  kGgufUnknown = 2,
  kGgufControl = 3,
  kGgufUserDefined = 4,
  kGgufUnused = 5,
  kGgufByte = 6
};
// tokenizer.ggml.pre of a byte-level tokenizer with this pattern ("": the byte-level splitter's own), digits one by one,
// text normalized to NFC, and words that are tokens taken whole; empty: it has no name that is read here.
std::string_view gguf_split_name(std::string_view pattern, bool digits, bool nfc, bool whole_words);

}  // namespace quern::models
