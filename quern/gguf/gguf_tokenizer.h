// Converts the tokenizer of a .gguf file to the tokenizer.json it was made from: byte-level BPE (tokenizer.ggml.model
// "gpt2", split by tokenizer.ggml.pre) and SentencePiece BPE ("llama": merges follow from the scores of the pieces).
// Anything else is an Error naming key and value.
#pragma once
#include "quern/tensor/gguf.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::gguf {

text::Tokenizer read_tokenizer(const GgufFile& file);

// Kinds of tokens, as a file numbers them.
enum GgufTokenKind : int32_t {
  kGgufNormal = 1,
  kGgufUnknown = 2,
  kGgufControl = 3,
  kGgufUserDefined = 4,
  kGgufUnused = 5,
  kGgufByte = 6
};
// How a byte-level tokenizer splits text: by a pattern ("": the splitter's own), digits one by one, after normalizing to
// NFC; and whether a word that is a token needs no merges.
struct ByteLevelSplit {
  std::string pattern;
  bool digits = false, nfc = false, whole_words = false;
};
// Its name as tokenizer.ggml.pre; empty: it has none that is read here.
std::string_view split_name(const ByteLevelSplit& split);

}  // namespace quern::gguf
