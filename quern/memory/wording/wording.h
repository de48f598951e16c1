// A question in the plain English that the time grammar reads: chat spellings and slips are written out ("lst month",
// "elevn", "2moro"), and questions in German, French, Spanish and Chinese are put into English word by word, by tables of
// words and of word orders (one file a language). What no table knows stays as it is: names, and what the talk is about.
// Cost: linear in the question.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::memory {

enum class Language : uint8_t { english, german, french, spanish, chinese };
const char* language_name(Language l);

struct PlainWording {
  std::string text;
  Language language = Language::english;
  std::vector<std::string> notes;  // slips that were mended: "'elevn' is read as 'eleven'"
};
// `names`: of people, in lower case; other tongues' tables leave them alone.
PlainWording plain_wording(std::string_view question, const std::vector<std::string>& names = {});

}  // namespace quern::memory
