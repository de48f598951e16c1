// Finds settings that are declared twice: the same help in two declarations of the sources, `.flag("--x", x, "help")` or
// `v("x", x, "help")`, and flags that mean another thing in another verb.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::declared {

struct Declaration {
  std::string name, help, place;  // place: FILE:LINE
};

// The declarations of a source file whose help is a literal; comments are skipped, a default at the end of the help
// ("… [all]") too.
std::vector<Declaration> declarations(const std::string& file, std::string_view text);

// "FILE:LINE and FILE:LINE both say: …"
std::vector<std::string> repeated_helps(const std::vector<Declaration>& all);

// What the page says of every flag: "--seed" → "N random seed … [0]" → the verbs that say so. The page is docs/cli.md:
// a heading per verb, then what its --help prints.
using FlagTexts = std::map<std::string, std::map<std::string, std::vector<std::string>>>;
FlagTexts flag_texts(std::string_view page);

// Flags that say more than one thing and that `reasons` ("--seed  why" per line, # for comments) does not list, and
// entries of `reasons` that are not needed. A reason that begins with "default: " excuses nothing but defaults: the flag
// has one text, so one declaration (repeated_helps), and verbs set its default.
std::vector<std::string> flag_complaints(const FlagTexts& flags, std::string_view reasons);

}  // namespace quern::declared
