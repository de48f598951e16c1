// Conditions are read out of the question; with few variables every assignment is tried.
#include <gtest/gtest.h>

#include <set>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

std::vector<std::string> conditions(const std::string& question) {
  static const std::regex condition("\\(([^)]*)\\)");
  std::vector<std::string> out;
  for (std::sregex_iterator i(question.begin(), question.end(), condition), end; i != end; ++i)
    out.push_back((*i)[1]);
  return out;
}

int variables(const std::string& question) {
  static const std::regex last("x1 to x(\\d+) is");
  std::smatch m;
  return std::regex_search(question, m, last) ? std::stoi(m[1]) : 0;
}

bool satisfies(const std::vector<std::string>& all, const std::set<std::string>& yes) {
  static const std::regex literal("(not )?(x\\d+)");
  return std::ranges::all_of(all, [&](const std::string& c) {
    for (std::sregex_iterator i(c.begin(), c.end(), literal), end; i != end; ++i)
      if ((*i)[1].matched != yes.contains((*i)[2])) return true;
    return false;
  });
}

bool is_assignment(const Problem& p, const std::string& given) {
  std::vector<std::string> words = plain_answer_words(given);
  if (words == std::vector<std::string>{"none"})
    words.clear();
  else if (words.empty())
    return false;
  std::set<std::string> names;
  for (int v = variables(p.question); v > 0; --v) names.insert(fmt::format("x{}", v));
  const std::set<std::string> yes(words.begin(), words.end());
  return yes.size() == words.size() && std::ranges::includes(names, yes) && satisfies(conditions(p.question), yes);
}

TEST(Sat, AcceptsWhatSatisfies) { check_verifier("sat", is_assignment); }
TEST(Sat, HasTheProperties) { check_environment("sat", {.wrong = 1}); }  // another problem's answer may be right

TEST(Sat, JudgesEveryAssignment) {
  const NamedEnvironment& e = plugin_environments().find("sat");
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Problem p = e.generate(seed, static_cast<int64_t>(seed % 4));
    const int n = variables(p.question);
    int right = 0;
    for (int bits = 0; bits < 1 << n; ++bits) {
      std::set<std::string> yes;
      for (int v = 0; v < n; ++v)
        if (bits >> v & 1) yes.insert(fmt::format("x{}", v + 1));
      const bool satisfied = satisfies(conditions(p.question), yes);
      const std::string reply = yes.empty() ? "none" : fmt::format("{}", fmt::join(yes, " "));
      EXPECT_EQ(e.verify(p, reply).reward, satisfied ? 1 : 0) << reply;
      right += satisfied ? 1 : 0;
    }
    EXPECT_GT(right, 0);
    EXPECT_LT(right, 1 << n);
  }
}

}  // namespace
}  // namespace quern::gym
