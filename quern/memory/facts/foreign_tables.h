// Facts that change in German, French and Spanish: how they are asked for, and how somebody states them plainly. Phrases as in
// word_phrase.h.
#pragma once
#include <string_view>
#include <vector>

#include "quern/memory/facts/word_phrase.h"

namespace quern::memory {

struct ForeignKind {
  std::string_view kind;          // as in fact_fields.h
  std::vector<WordPhrase> asked;  // at the beginning of a question
  std::vector<WordPhrase> told;   // by the one it is about, or of "@" by others
  std::vector<WordPhrase> ended;
};
const std::vector<ForeignKind>& foreign_kinds();

struct ForeignSigns {
  std::vector<WordPhrase> first_person, past, before;  // of questions
  std::vector<WordPhrase> doubtful;                    // of statements: wishes, denials
  std::vector<WordPhrase> others, subject;             // "my brother", without "I"
  std::vector<WordPhrase> dwelling;                    // "flat", "street": a home without a name
  std::vector<WordPhrase> today;                       // work of a day is no employment
  std::vector<WordPhrase> fresh;                       // "now", "new"
};
const ForeignSigns& foreign_signs();

}  // namespace quern::memory
