// The strings are matched again by std::regex.
#include <gtest/gtest.h>

#include <set>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

std::multiset<std::string> matching(const std::string& question) {
  static const std::regex parts("regular expression (\\S+) match .*: (.*)$");
  std::smatch m;
  std::multiset<std::string> out;
  if (!std::regex_search(question, m, parts)) return out;
  const std::regex pattern(m[1].str());
  for (const std::string& s : plain_answer_words(m[2]))
    if (std::regex_match(s, pattern)) out.insert(s);
  if (out.empty()) out.insert("none");
  return out;
}

TEST(RegexMatch, IsRight) {
  std::string question;
  std::multiset<std::string> found;
  check_verifier("regex_match", [&](const Problem& p, const std::string& given) {
    if (p.question != question) question = p.question, found = matching(question);
    const auto words = plain_answer_words(given);
    return std::multiset<std::string>(words.begin(), words.end()) == found;
  });
}
TEST(RegexMatch, HasTheProperties) { check_environment("regex_match"); }

TEST(RegexMatch, MatchesSomeAndNotOthers) {
  const NamedEnvironment& e = plugin_environments().find("regex_match");
  size_t yes = 0, no = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::string steps = e.generate(seed, 4).steps;
    for (size_t at = 0; (at = steps.find(": ", at)) != steps.npos; at += 2) ++(steps[at + 2] == 'y' ? yes : no);
  }
  EXPECT_GT(yes, 200u);
  EXPECT_GT(no, 200u);
}

}  // namespace
}  // namespace quern::gym
