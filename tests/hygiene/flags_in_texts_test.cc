// A library does not know which command line its caller has: the string literals of quern/ and lab/ name no flags.
// Declarations do (.flag, .old_flags), and so do the few places that write a command line.
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/hygiene/cpp_text.h"
#include "tests/hygiene/source_tree.h"

namespace quern::hygiene {
namespace {

// Files that may, each with the reason.
const std::map<std::string, std::string> kMay = {
    {"quern/train/supervise/supervise.cc", "starts the command line of a run again"},
};

// "--out" in a literal: dashes at its beginning or after anything but a word, and not a color of a style sheet.
bool names_flag(std::string_view literal) {
  for (size_t at = literal.find("--"); at != literal.npos; at = literal.find("--", at + 1)) {
    const bool letter = at + 2 < literal.size() && std::islower(static_cast<unsigned char>(literal[at + 2])) != 0;
    const bool begins = at == 0 || !(in_word(literal[at - 1]) || literal[at - 1] == '-');
    if (letter && begins && !literal.substr(0, at).ends_with("var(")) return true;
  }
  return false;
}

bool declares_flag(std::string_view before) {  // the text ahead of a literal
  const size_t end = before.find_last_not_of("\" \n");
  before = before.substr(0, end == before.npos ? 0 : end + 1);
  return before.ends_with(".flag =") || before.ends_with(".old_flags =");
}

// "line 3: needs --out"
std::vector<std::string> findings(const std::string& text) {
  std::vector<std::string> out;
  scan(
      text, [](int, std::string_view) {},
      [&](int line, std::string_view literal) {
        const auto begin = static_cast<size_t>(literal.data() - text.data());
        if (names_flag(literal) && !declares_flag(std::string_view(text).substr(0, begin)))
          out.push_back("line " + std::to_string(line) + ": " + std::string(literal));
      });
  return out;
}

TEST(FlagsInTexts, TheLibraryNamesNone) {
  int checked = 0;
  std::map<std::string, std::string> unused = kMay;
  for (const SourceFile& f : source_tree(QUERN_SOURCE_DIR)) {
    if (f.path.starts_with("apps/") || f.path.ends_with("_test.cc")) continue;
    ++checked;
    const std::vector<std::string> found = findings(f.text);
    if (!found.empty() && unused.erase(f.path)) continue;
    for (const std::string& finding : found) ADD_FAILURE() << f.path << ", " << finding;
  }
  EXPECT_GT(checked, 700);
  for (const auto& [path, reason] : unused) ADD_FAILURE() << path << " names no flag and needs no exception";
}

TEST(FlagsInTexts, SeesWhatItShould) {
  EXPECT_EQ(findings("// --in a comment\n"
                     "fail(\"with --quant: a format\");\n"
                     "v(\"head\", head, \"h\", {.shown_default = \"as --quant\"});\n"
                     "parse(text, \"--scheme\");\n"
                     "auto a = \"give '--all'\", b = R\"(\n(--raw))\";\n"),
            (std::vector<std::string>{"line 2: with --quant: a format", "line 3: as --quant", "line 4: --scheme",
                                      "line 5: give '--all'", "line 5: \n(--raw)"}));
  EXPECT_EQ(findings("v(\"temp\", t, \"h\", {.flag = \"-t,--temp\", .old_flags =\n    \"--heat,--warmth\"});\n"
                     "auto css = \"color:var(--c1)\", rule = \"----\", dash = \"a -- b\", less = \"i--x\";\n"),
            std::vector<std::string>{});
}

}  // namespace
}  // namespace quern::hygiene
