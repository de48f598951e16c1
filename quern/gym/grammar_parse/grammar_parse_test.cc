// Derivations are replayed with the rules that the question shows, by replacing text.
#include <gtest/gtest.h>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

bool makes_the_string(const Problem& p, const std::string& given) {
  static const std::regex rule("rule \\d+: ([A-Z]) -> (\\w+)"), wanted("make the string ([a-z]+)\\.");
  std::smatch m;
  if (!std::regex_search(p.question, m, wanted)) return false;
  const std::string string = m[1];
  std::vector<std::pair<std::string, std::string>> rules;
  for (std::sregex_iterator i(p.question.begin(), p.question.end(), rule), end; i != end; ++i)
    rules.emplace_back((*i)[1], (*i)[2]);
  std::string s = "S";
  for (const std::string& word : plain_answer_words(given)) {
    if (word.find_first_not_of("0123456789") != word.npos || word.size() > 3) return false;
    const size_t n = std::stoul(word), at = s.find_first_of("SAB");
    if (n < 1 || n > rules.size() || at == s.npos || s.substr(at, 1) != rules[n - 1].first) return false;
    s.replace(at, 1, rules[n - 1].second);
  }
  return s == string;
}

TEST(GrammarParse, IsRight) { check_verifier("grammar_parse", makes_the_string); }
TEST(GrammarParse, HasTheProperties) { check_environment("grammar_parse", {.wrong = 1}); }  // often several are right

TEST(GrammarParse, AcceptsAnotherDerivation) {
  Problem p;
  p.facts = Json::parse(R"({"rules": ["SSS", "Sa"], "string": "aaa"})");
  const NamedEnvironment& e = plugin_environments().find("grammar_parse");
  EXPECT_EQ(e.verify(p, "1 2 1 2 2").reward, 1);
  EXPECT_EQ(e.verify(p, "1, 1, 2, 2, 2").reward, 1);
  EXPECT_EQ(e.verify(p, "1, 1, 2, 2").reason, "S is not replaced");
  EXPECT_EQ(e.verify(p, "1, 2, 2").reason, "the rules make a shorter string");
  EXPECT_EQ(e.verify(p, "1 2 1 2 2 2").reason, "there are rules after the end of the derivation");
  EXPECT_EQ(e.verify(p, "3").reason, "there is no rule 3");
  EXPECT_EQ(e.verify(p, "S").reason, "the answer is not a list of rule numbers");
}

}  // namespace
}  // namespace quern::gym
