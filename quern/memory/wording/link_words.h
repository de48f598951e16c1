// Words that tie a question to another, or that take something away: found in the question as it was put, whatever its
// translation made of them. Whether the reading used them is for others to say (ask/unused_words.h).
//   opener      begins a question that goes on from another: "and", "what about", "und", "qu'en est-il", "¿y", "那…呢"
//   pointer     a time that was named before: "an jenem Abend", "ce jour-là", "aquella noche", "那天"
//   step        counted from it: "danach", "le lendemain", "la anterior", "再前一天"
//   exception   "außer", "sauf", "quitando", "除了", and in English "apart from"
//   comparison  "longer than", "längstes", "la plus longue", "最长"
//   person      somebody who was named before: "she", "he said", "hat er", "et elle", "她"
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/memory/wording/wording.h"

namespace quern::memory {

enum class LinkKind : uint8_t { opener, pointer, step, exception, comparison, person };

struct LinkWord {
  LinkKind kind;
  std::string words;  // in lower case, without accents
};

// At most one of a kind: the first that stands there.
std::vector<LinkWord> link_words(std::string_view question, Language language);

}  // namespace quern::memory
