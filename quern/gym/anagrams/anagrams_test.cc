// Anagrams are found again by counting letters.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

bool are_the_anagrams(const Problem& p, const std::string& given) {
  static const std::regex parts("letters of ([a-z]+) in .*: (.*)$");
  std::smatch m;
  if (!std::regex_search(p.question, m, parts)) return false;
  const auto counts = [](const std::string& s) {
    std::map<char, int> n;
    for (char c : s) ++n[c];
    return n;
  };
  std::multiset<std::string> expected;
  for (const std::string& s : plain_answer_words(m[2]))
    if (counts(s) == counts(m[1])) expected.insert(s);
  const auto words = plain_answer_words(given);
  return std::multiset<std::string>(words.begin(), words.end()) == expected;
}

TEST(Anagrams, AreRight) { check_verifier("anagrams", are_the_anagrams); }
TEST(Anagrams, HasTheProperties) { check_environment("anagrams"); }

TEST(Anagrams, ComeInAnyOrder) {
  const NamedEnvironment& e = plugin_environments().find("anagrams");
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Problem p = e.generate(seed, 6);
    auto words = plain_answer_words(p.answer);
    std::ranges::reverse(words);
    EXPECT_EQ(e.verify(p, fmt::format("Answer: {}", fmt::join(words, "; "))).reward, 1);
    EXPECT_EQ(e.verify(p, p.answer + ", " + words[0]).reason, "the answer names something twice");
  }
}

}  // namespace
}  // namespace quern::gym
