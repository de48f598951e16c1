// Identifiers, comments, string literals and the web files use the field's words and American spelling. words.txt lists
// what is not used any more and what is used instead. String literals may hold old names, which formats and interfaces
// keep; their other words are checked, but for those that words.txt allows with a reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/hygiene/cpp_text.h"

namespace {

using quern::hygiene::in_word;
using quern::hygiene::scan;

namespace fs = std::filesystem;

struct Allowed {
  std::string path, word;  // of a file, or of a folder with "/" at its end
  bool used = false;
};

struct Words {
  std::map<std::string, std::string, std::less<>> names, spellings;  // what is not used → what is
  std::vector<std::pair<std::string, std::string>> prefixes;         // of identifiers
  std::vector<std::pair<std::string, std::string>> phrases;          // of texts that people see
  std::vector<Allowed> allowed;                                      // in string literals and web files

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
      if (kind == "phrase") {
        const std::string both = trimmed(rest(fields));
        const size_t bar = both.find(" | ");
        if (bar == both.npos) throw std::runtime_error("words.txt: " + line);
        phrases.emplace_back(both.substr(0, bar), both.substr(bar + 3));
        continue;
      }
      if (kind == "allow") {
        if (!(fields >> from >> to) || trimmed(rest(fields)).empty())
          throw std::runtime_error("words.txt, no reason: " + line);
        std::ranges::replace(to, '_', ' ');
        allowed.push_back({from, to});
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

  bool allows(const std::string& path, const std::string& word) {
    bool found = false;
    for (Allowed& a : allowed)
      if (a.word == word && (a.path == path || (a.path.ends_with('/') && path.starts_with(a.path))))
        a.used = found = true;
    return found;
  }

 private:
  static std::string rest(std::istream& in) {
    std::string s;
    std::getline(in, s);
    return s;
  }
  static std::string trimmed(const std::string& s) {
    const size_t from = s.find_first_not_of(' ');
    return from == s.npos ? "" : s.substr(from);
  }
};

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

std::string finding(int line, std::string_view found, const std::string& instead) {
  return "line " + std::to_string(line) + ": " + std::string(found) + ", say " + instead;
}

// "line 3: DraftBet, say DraftLengthPolicy" for identifiers and comments.
std::vector<std::string> findings(const std::string& text, const Words& w) {
  std::vector<std::string> out;
  const auto check = [&](int line, std::string_view name) {
    if (auto found = w.names.find(name); found != w.names.end()) out.push_back(finding(line, name, found->second));
    for (const auto& [prefix, instead] : w.prefixes)
      if (name.starts_with(prefix)) out.push_back(finding(line, name, instead));
    for (const std::string& part : parts_of(name))
      if (auto found = w.spellings.find(part); found != w.spellings.end())
        out.push_back(finding(line, name, found->second));
  };
  scan(text, check, [](int, std::string_view) {});
  return out;
}

// Lower-case words with a blank before and behind each: " 2 tokens put away ". An escape is no part of a word.
std::string plain_words(std::string_view text) {
  std::string s = " ";
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (in_word(text[i])) {
      s += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
      continue;
    }
    if (s.back() != ' ') s += ' ';
  }
  if (s.back() != ' ') s += ' ';
  return s;
}

// What is wrong with words that people see, in the file `path` of the source tree.
void check_shown(const std::string& path, int line, std::string_view text, Words& w, std::vector<std::string>& out) {
  const std::string words = plain_words(text);
  for (const auto& [phrase, instead] : w.phrases)
    if (words.find(" " + phrase + " ") != words.npos && !w.allows(path, phrase))
      out.push_back(finding(line, phrase, instead));
  for (const std::string& part : parts_of(words))
    if (auto found = w.spellings.find(part); found != w.spellings.end() && !w.allows(path, part))
      out.push_back(finding(line, part, found->second));
}

// The same of the string literals of C++ text. Those that stand beside each other are one.
std::vector<std::string> shown_findings(const std::string& path, const std::string& text, Words& w) {
  std::vector<std::string> out;
  std::string whole;
  int first = 0;
  const char* end = nullptr;  // of the literal before
  scan(
      text, [](int, std::string_view) {},
      [&](int line, std::string_view literal) {
        const bool adjacent =
            end && std::string_view(end, static_cast<size_t>(literal.data() - end)).find_first_not_of("\" \n") ==
                       std::string_view::npos;
        if (!adjacent) {
          check_shown(path, first, whole, w, out);
          whole.clear(), first = line;
        }
        whole += literal, end = literal.data() + literal.size();
      });
  check_shown(path, first, whole, w, out);
  return out;
}

std::vector<std::string> web_findings(const std::string& path, const std::string& text, Words& w) {
  std::vector<std::string> out;
  check_shown(path, 1, text, w, out);
  return out;
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Words tree_words() {
  std::ifstream list(fs::path(QUERN_SOURCE_DIR) / "tests/hygiene/words.txt");
  return Words(list);
}

std::vector<fs::path> sources(std::initializer_list<const char*> folders, std::initializer_list<const char*> ends) {
  std::vector<fs::path> found;
  for (const char* folder : folders)
    for (const auto& e : fs::recursive_directory_iterator(fs::path(QUERN_SOURCE_DIR) / folder))
      if (std::ranges::any_of(ends, [&](const char* end) { return e.path().string().ends_with(end); }))
        found.push_back(e.path());
  return found;
}

TEST(Words, IdentifiersAndCommentsUseTheFieldsWords) {
  const Words words = tree_words();
  ASSERT_GT(words.names.size(), 100u);
  ASSERT_GT(words.spellings.size(), 100u);
  const std::vector<fs::path> files = sources({"quern", "lab", "apps"}, {".h", ".cc"});
  for (const fs::path& file : files)
    for (const std::string& finding : findings(read_text(file), words)) ADD_FAILURE() << file << ", " << finding;
  EXPECT_GT(files.size(), 500u);
}

TEST(Words, TextsThatPeopleSeeUseTheFieldsWords) {
  Words words = tree_words();
  ASSERT_GT(words.phrases.size(), 50u);
  const auto name_of = [](const fs::path& file) { return fs::relative(file, QUERN_SOURCE_DIR).generic_string(); };
  int checked = 0;
  for (const fs::path& file : sources({"quern", "lab", "apps"}, {".h", ".cc"})) {
    if (file.string().ends_with("_test.cc")) continue;  // samples
    ++checked;
    for (const std::string& finding : shown_findings(name_of(file), read_text(file), words))
      ADD_FAILURE() << file << ", " << finding;
  }
  EXPECT_GT(checked, 400);
  const std::vector<fs::path> web = sources({"web"}, {".html", ".js"});
  for (const fs::path& file : web)
    for (const std::string& finding : web_findings(name_of(file), read_text(file), words))
      ADD_FAILURE() << file << ", " << finding;
  EXPECT_GT(web.size(), 3u);
  for (const Allowed& a : words.allowed)
    EXPECT_TRUE(a.used) << "words.txt allows " << a.word << " in " << a.path << ", where it is not used any more";
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

TEST(Words, SeesWhatPeopleShouldNot) {
  std::istringstream list(R"(phrase put away | unload
phrase tokens a second | tokens per second
word colours colors
ise quant
allow quern/a.cc quantised the key of a format
allow lab/ put_away a word of a grammar
)");
  Words words(list);
  const std::string source =
      "// colours, put away\n"
      "auto a = \"models put \"\n"
      "         \"away\\nQuantised\", b = \"put\" + x + \"away\";\n"
      "auto c = R\"(12.5 Tokens a\nsecond)\" + R\"(colours)\";\n"
      "auto colours = \"input aways, colors\";\n";
  const std::vector<std::string> all = {"line 2: put away, say unload", "line 2: quantised, say quantized",
                                        "line 4: tokens a second, say tokens per second",
                                        "line 5: colours, say colors"};
  EXPECT_EQ(shown_findings("quern/b.cc", source, words), all);
  EXPECT_FALSE(words.allowed[0].used || words.allowed[1].used);
  EXPECT_EQ(shown_findings("quern/a.cc", source, words), (std::vector<std::string>{all[0], all[2], all[3]}));
  EXPECT_EQ(shown_findings("lab/x/y.cc", source, words), (std::vector<std::string>{all[1], all[2], all[3]}));
  EXPECT_TRUE(words.allowed[0].used && words.allowed[1].used);
  EXPECT_EQ(web_findings("web/a.html", "<p>1 model\n put away</p>", words),
            (std::vector<std::string>{"line 1: put away, say unload"}));
  std::istringstream without_reason("allow quern/a.cc quantised\n"), without_bar("phrase put away unload\n");
  EXPECT_THROW(Words{without_reason}, std::runtime_error);
  EXPECT_THROW(Words{without_bar}, std::runtime_error);
}

}  // namespace
