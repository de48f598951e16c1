// Every answer is worked out again from the text of the question.
#include <gtest/gtest.h>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"
#include "quern/gym/problem_checks.h"

namespace quern::gym {
namespace {

// "6 * 47 + 3 - 2", products first.
int64_t value_of(const std::string& e) {
  static const std::regex term("([+-]?) ?(\\d+)(?: \\* (\\d+))?");
  int64_t sum = 0;
  for (std::sregex_iterator i(e.begin(), e.end(), term), end; i != end; ++i) {
    const int64_t v = std::stoll((*i)[2]) * ((*i)[3].matched ? std::stoll((*i)[3]) : 1);
    sum += (*i)[1] == "-" ? -v : v;
  }
  return sum;
}

TEST(Arithmetic, IsRight) {
  each_problem("arithmetic", [](const Problem& p) {
    const std::vector<int64_t> v = numbers_in(p.question);
    if (p.question.starts_with("Divide"))
      EXPECT_EQ(p.answer, fmt::format("{} remainder {}", v[0] / v[1], v[0] % v[1]));
    else
      EXPECT_EQ(p.answer, std::to_string(value_of(p.question.substr(8, p.question.size() - 9))));
    expect_true_steps(p.steps);
  });
}

TEST(Arithmetic, RefusesMutations) { check_mutations("arithmetic", is_the_text); }
TEST(Arithmetic, HasTheProperties) { check_environment("arithmetic"); }

}  // namespace
}  // namespace quern::gym
