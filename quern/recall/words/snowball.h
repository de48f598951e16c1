// Stemmers of many languages from libstemmer (Snowball), by the language's name in English. English is not among
// them: its stems are Porter's original ones (porter_stem), which the indices of older versions hold.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern::recall {

std::vector<std::string> snowball_languages();  // in alphabetical order
// `word`: UTF-8 in lower case, accents in place. A stemmer is made once a thread and language. Throws Error naming
// the known languages when `language` is not one.
void snowball_stem(std::string& word, std::string_view language);

}  // namespace quern::recall
