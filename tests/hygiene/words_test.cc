// Identifiers and comments use the field's words and American spelling. words.txt lists what is not used any more and
// what is used instead; string literals are not looked at, since they hold names of formats and interfaces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Words {
  std::map<std::string, std::string, std::less<>> names, spellings;  // what is not used → what is
  std::vector<std::pair<std::string, std::string>> prefixes;         // of identifiers

  explicit Words(std::istream& in) {
    for (std::string line; std::getline(in, line);) {
      std::istringstream fields(line);
      std::string kind, from, to;
      if (!(fields >> kind) || kind.starts_with('#')) continue;
      if (kind == "ise") {  // stems of verbs in -ize
        for (std::string stem; fields >> stem;)
          for (const char* end : {"e", "ed", "es", "er", "ers", "ing", "ation", "ations", "able"})
            spellings.emplace(stem + "is" + end, stem + "iz" + end);
        continue;
      }
      if (!(fields >> from >> to)) throw std::runtime_error("words.txt: " + line);
      if (kind == "name")
        names.emplace(from, to);
      else if (kind == "word")
        spellings.emplace(from, to);
      else if (kind == "prefix")
        prefixes.emplace_back(from, to);
      else
        throw std::runtime_error("words.txt: " + line);
    }
  }
};

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The words of an identifier in lower case: "kClassColours" is k, class, colours.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < name.size(); ++i) {
    const bool upper = std::isupper(static_cast<unsigned char>(name[i])) != 0;
    if (!std::isalpha(static_cast<unsigned char>(name[i])) ||
        (upper && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1]))))
      parts.emplace_back();
    if (std::isalpha(static_cast<unsigned char>(name[i])))
      parts.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return parts;
}

// "line 3: DraftBet, say DraftLengthPolicy" for everything in C++ text outside of its string literals and of what its
// comments quote.
std::vector<std::string> findings(const std::string& text, const Words& w) {
  std::vector<std::string> out;
  int line = 1;
  const auto say = [&](std::string_view found, const std::string& instead) {
    out.push_back("line " + std::to_string(line) + ": " + std::string(found) + ", say " + instead);
  };
  bool comment = false;  // in a comment that ends with its line
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') {
      comment = false, ++line, ++i;
    } else if (!comment && text.compare(i, 2, "//") == 0) {
      comment = true, i += 2;
    } else if (!comment && text.compare(i, 2, "R\"") == 0) {
      const size_t open = text.find('(', i);
      const std::string close = ")" + text.substr(i + 2, open - i - 2) + "\"";
      const size_t end = std::min(text.find(close, open), text.size());
      line += static_cast<int>(
          std::count(text.begin() + static_cast<ptrdiff_t>(i), text.begin() + static_cast<ptrdiff_t>(end), '\n'));
      i = end + close.size();
    } else if (c == '"' || (c == '\'' && !comment)) {
      size_t end = i + 1;
      for (; end < text.size() && text[end] != c && text[end] != '\n'; ++end)
        if (text[end] == '\\' && !comment) ++end;
      if (comment && (end == text.size() || text[end] == '\n')) end = i;  // a quotation mark that nothing closes
      i = end + 1;
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      while (i < text.size() && (in_word(text[i]) || text[i] == '.' || (text[i] == '\'' && !comment))) ++i;
    } else if (in_word(c)) {
      size_t end = i;
      while (end < text.size() && in_word(text[end])) ++end;
      const std::string_view name = std::string_view(text).substr(i, end - i);
      if (auto found = w.names.find(name); found != w.names.end()) say(name, found->second);
      for (const auto& [prefix, instead] : w.prefixes)
        if (name.starts_with(prefix)) say(name, instead);
      for (const std::string& part : parts_of(name))
        if (auto found = w.spellings.find(part); found != w.spellings.end()) say(name, found->second);
      i = end;
    } else {
      ++i;
    }
  }
  return out;
}

TEST(Words, IdentifiersAndCommentsUseTheFieldsWords) {
  std::ifstream list(fs::path(QUERN_SOURCE_DIR) / "tests/hygiene/words.txt");
  const Words words(list);
  ASSERT_GT(words.names.size(), 100u);
  ASSERT_GT(words.spellings.size(), 100u);
  int files = 0;
  for (const char* room : {"quern", "lab", "apps"})
    for (const auto& e : fs::recursive_directory_iterator(fs::path(QUERN_SOURCE_DIR) / room)) {
      const std::string f = e.path().filename().string();
      if (!f.ends_with(".h") && !f.ends_with(".cc")) continue;
      ++files;
      std::ifstream in(e.path());
      std::stringstream text;
      text << in.rdbuf();
      for (const std::string& finding : findings(text.str(), words)) ADD_FAILURE() << e.path() << ", " << finding;
    }
  EXPECT_GT(files, 500);
}

TEST(Words, SeesWhatItShould) {
  std::istringstream list(R"(# a comment
name DraftBet DraftLengthPolicy
prefix most_ max_
ise quant
word colours colors
)");
  const Words words(list);
  EXPECT_EQ(
      findings("DraftBet b;  // a DraftBet quantises\n"
               "int most_rows = 1'000, almost_rows, at_most = kClassColours;\n"
               "auto s = R\"x(DraftBet\n)x\" + \"quantise\" + 'D';  // \"colours\" is the key\n"
               "Quantised q;\n",
               words),
      (std::vector<std::string>{"line 1: DraftBet, say DraftLengthPolicy", "line 1: DraftBet, say DraftLengthPolicy",
                                "line 1: quantises, say quantizes", "line 2: most_rows, say max_",
                                "line 2: kClassColours, say colors", "line 5: Quantised, say quantized"}));
}

}  // namespace
