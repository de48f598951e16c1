// The word and the answer together are reduced to nothing by removing (), [] and {}.
#include <gtest/gtest.h>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

bool reduces(std::string s) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const char* pair : {"()", "[]", "{}"})
      for (size_t at; (at = s.find(pair)) != s.npos; changed = true) s.erase(at, 2);
  }
  return s.empty();
}

// As many openings are left as closings are added, so nothing shorter completes the word.
bool completes(const Problem& p, std::string given) {
  const std::string word = p.question.substr(p.question.rfind(": ") + 2);
  std::erase(given, ' ');
  return given.find_first_of("([{") == given.npos && reduces(word + given);
}

TEST(Brackets, AreClosed) { check_verifier("brackets", completes); }
TEST(Brackets, HasTheProperties) { check_environment("brackets"); }

TEST(Brackets, SaysWhatIsWrong) {
  const NamedEnvironment& e = plugin_environments().find("brackets");
  const Problem p = e.generate(1, 3);
  EXPECT_EQ(e.verify(p, p.question).reason, "there is more than closing brackets");
  EXPECT_NE(e.verify(p, p.answer + ")").reason.find("are to be closed"), std::string::npos);
}

}  // namespace
}  // namespace quern::gym
