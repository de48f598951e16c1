// The language of a text, by simple means: the script of its letters; among languages in Latin letters, the frequent
// words of seven. Short texts, mixed ones and other languages in Latin letters are unsure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern::verify {

// "en", "de", "fr", "es", "it", "pt", "nl", "ja", "zh", "ko"; empty: unsure.
std::string language_of(std::string_view text);
const std::vector<std::string>& known_languages();

// "latin", "cyrillic", "greek", "han", "kana", "hangul", "arabic", "hebrew", "devanagari", "thai" of nine tenths of the
// letters; empty: none is.
std::string script_of(std::string_view text);
const std::vector<std::string>& known_scripts();

}  // namespace quern::verify
