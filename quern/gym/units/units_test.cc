// Every answer is worked out again from the text of the question.
#include <gtest/gtest.h>

#include <map>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"
#include "quern/gym/problem_checks.h"

namespace quern::gym {
namespace {

TEST(Units, AreRight) {
  const std::map<std::string, int64_t> factor = {{"m", 100},    {"km", 1000}, {"kg", 1000},
                                                 {"hours", 60}, {"l", 1000},  {"days", 24}};
  each_problem("units", [&](const Problem& p) {
    expect_true_steps(p.steps);
    const std::vector<int64_t> v = numbers_in(p.question);
    std::smatch m;
    if (std::regex_match(p.question, m, std::regex("How many (\\w+) are (\\d+) (\\w+)(?: and (\\d+) \\w+)?\\?"))) {
      EXPECT_EQ(p.answer, fmt::format("{} {}", v[0] * factor.at(m[3]) + (m[4].matched ? v[1] : 0), m[1].str()));
    } else if (std::regex_match(p.question, m, std::regex("Write (\\d+) (\\w+) as (\\w+) and \\w+\\."))) {
      const int64_t f = factor.at(m[3]);
      EXPECT_EQ(p.answer, fmt::format("{} {} {} {}", v[0] / f, m[3].str(), v[0] % f, m[2].str()));
    } else if (p.question.find("coins each") != std::string::npos) {
      ASSERT_EQ(v.size(), 2 * static_cast<size_t>(p.difficulty - 2));
      int64_t sum = 0;
      for (size_t i = 0; i < v.size(); i += 2) sum += v[i] * v[i + 1];
      EXPECT_EQ(p.answer, fmt::format("{} coins", sum));
    } else if (p.question.find("costs") != std::string::npos) {
      EXPECT_EQ(p.answer, fmt::format("{} coins", v[2] - v[0] * v[1]));
    } else if (p.question.starts_with("A boat")) {
      EXPECT_EQ(p.answer, fmt::format("{} km", v[0] * (v[1] * 60 + v[2]) / 60));
      EXPECT_EQ(v[0] * (v[1] * 60 + v[2]) % 60, 0);
    } else {
      EXPECT_EQ(p.answer, fmt::format("{} g", v[1] / v[0] * v[2]));
    }
  });
}

TEST(Units, RefusesMutations) { check_mutations("units", is_the_text); }
TEST(Units, HasTheProperties) { check_environment("units"); }

}  // namespace
}  // namespace quern::gym
