// Dictionary of the time grammar, and correction of misspelled calendar names.
#pragma once
#include <string_view>

#include "quern/memory/time/time_words.h"

namespace quern::memory {

struct LexiconEntry {
  std::string_view spelling;
  Lex lex;
  int32_t value;
  Word word = Word::none;
  bool weak = false, plural = false;
};
const LexiconEntry* lexicon_find(std::string_view lower);
// The name that a slip of the pen stands for (lexicon_mend.cc); empty when the word is none, or one of its own.
std::string_view mended_spelling(std::string_view lower);
const LexiconEntry* lexicon_mend(std::string_view lower);
// At most one edit apart (insertion, deletion, change, swap of neighbors). Cost: linear.
bool one_edit_apart(std::string_view a, std::string_view b);

}  // namespace quern::memory
