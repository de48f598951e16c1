// Word encoders by folder or by name: a folder has words.bin and a config.json that names it, {"model_type":
// "word-vectors", …}; "words" is the one of models/words, which is a part of the library, decoded when it is first needed.
#pragma once
#include "quern/encoders/words/word_encoder.h"

namespace quern::encoders {

inline constexpr const char* kShippedWords = "words";       // its name, where no folder has it
inline constexpr std::string_view kWordVectors = "words-";  // how fingerprints of word encoders begin

const WordEncoder& shipped_words();

bool is_word_encoder(const std::filesystem::path& folder);
WordEncoder load_word_encoder(const std::filesystem::path& folder);

}  // namespace quern::encoders
