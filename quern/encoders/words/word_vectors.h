// The vectors of many texts by a WordEncoder.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "quern/encoders/words/word_encoder.h"
#include "quern/tensor/tensor.h"

namespace quern::encoders {

struct WordVectors {
  Tensor rows;        // [texts, width]; 0 for a text without a known word
  int64_t words = 0;  // known ones, each once a text
};
WordVectors embed_texts(const WordEncoder& encoder, std::span<const std::string> texts);

}  // namespace quern::encoders
