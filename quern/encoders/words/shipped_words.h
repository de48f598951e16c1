// The word encoder of models/words, which is a part of the library; decoded when it is first needed.
#pragma once
#include "quern/encoders/words/word_encoder.h"

namespace quern::encoders {

inline constexpr std::string_view kWordVectors = "words-";  // how fingerprints of word encoders begin

const WordEncoder& shipped_words();

}  // namespace quern::encoders
