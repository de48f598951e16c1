// The rules are read out of the question and applied by regular expressions.
#include <gtest/gtest.h>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

std::string rewritten(const std::string& question) {
  static const std::regex start("the string ([a-c]+) by"), rule("([a-c]+) -> ([a-c]+)");
  std::smatch m;
  if (!std::regex_search(question, m, start)) return "";
  std::string s = m[1];
  const std::sregex_iterator first(question.begin(), question.end(), rule), end;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto i = first; i != end && !changed; ++i) {
      const std::string next =
          std::regex_replace(s, std::regex((*i)[1].str()), (*i)[2].str(), std::regex_constants::format_first_only);
      changed = next.size() < s.size();
      s = next;
    }
  }
  return s;
}

TEST(Rewriting, IsRight) {
  std::string question, found;
  check_verifier("rewriting", [&](const Problem& p, const std::string& given) {
    if (p.question != question) question = p.question, found = rewritten(question);
    return !found.empty() && given == found;
  });
}
TEST(Rewriting, HasTheProperties) { check_environment("rewriting"); }

}  // namespace
}  // namespace quern::gym
