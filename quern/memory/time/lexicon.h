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
// The name one edit away (insertion, deletion, change, swap of neighbors); null when there is none, or the word is
// an English word of its own ("mourning").
const LexiconEntry* lexicon_mend(std::string_view lower);
// At most one edit apart. Cost: linear.
bool one_edit_apart(std::string_view a, std::string_view b);

}  // namespace quern::memory
