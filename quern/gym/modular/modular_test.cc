// Powers are multiplied out one factor at a time; inverses are found among all numbers, and are the only ones.
#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

TEST(Modular, IsRight) {
  const NamedEnvironment& e = plugin_environments().find("modular");
  int inverses = 0;
  each_generated("modular", [&](const Problem& p) {
    const auto inverse = numbers_of(p.question, "from 1 to (\\d+) makes (\\d+) \\* x .* divided by (\\d+)");
    if (!inverse.empty()) {
      ++inverses;
      std::vector<int64_t> right;
      for (int64_t x = 1; x <= inverse[0][0]; ++x)
        if (inverse[0][1] * x % inverse[0][2] == 1) right.push_back(x);
      ASSERT_EQ(right.size(), 1u);
      EXPECT_EQ(p.answer, std::to_string(right[0]));
      EXPECT_EQ(inverse[0][0] + 1, inverse[0][2]);
    } else {
      const int64_t m = numbers_of(p.question, "divided by (\\d+)").at(0)[0];
      int64_t sum = 0;
      const auto powers = numbers_of(p.question, "(\\d+)\\^(\\d+)");
      for (const auto& v : powers) {
        int64_t power = 1;
        for (int64_t i = 0; i < v[1]; ++i) power = power * v[0] % m;
        sum += power;
      }
      EXPECT_EQ(std::ssize(powers), 1 + p.difficulty / 3);
      EXPECT_EQ(p.answer, std::to_string(sum % m));
      EXPECT_EQ(e.verify(p, std::to_string(sum % m + m)).reward, 0);
    }
    EXPECT_EQ(e.verify(p, "Answer: +" + p.answer + ".").reward, 1);
    EXPECT_EQ(e.verify(p, "Answer: x = " + p.answer).reward, 0);
  });
  EXPECT_GT(inverses, 100);
}

TEST(Modular, StepsAreTrue) {
  each_generated("modular", [](const Problem& p) {
    for (const auto& v : numbers_of(p.steps, "(?:: |^)(\\d+) \\* (\\d+) = (\\d+)")) EXPECT_EQ(v[0] * v[1], v[2]);
    for (const auto& v : numbers_of(p.steps, "(\\d+) - (\\d+) \\* (\\d+) = (\\d+) "))
      EXPECT_EQ(v[0] - v[1] * v[2], v[3]);
  });
}

TEST(Modular, RefusesMutations) { check_mutations("modular", is_the_integer); }

TEST(Modular, HasTheProperties) { check_environment("modular"); }

}  // namespace
}  // namespace quern::gym
