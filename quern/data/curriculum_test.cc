#include "quern/data/curriculum.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

namespace quern {
namespace {

TEST(Curriculum, SumsAreRight) {
  int plus = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    std::string s = curriculum_sum(7, i);
    int a = 0, b = 0, c = 0;
    char op = 0;
    ASSERT_EQ(std::sscanf(s.c_str(), "%d %c %d = %d.", &a, &op, &b, &c), 4) << s;
    EXPECT_EQ(op == '+' ? a + b : a - b, c) << s;
    plus += op == '+';
  }
  EXPECT_GT(plus, 800);
  EXPECT_LT(plus, 1200);
}

TEST(Curriculum, SameSeedSameTextOtherSeedOther) {
  std::set<std::string> seen;
  for (uint64_t i = 0; i < 300; ++i) {
    EXPECT_EQ(curriculum_text(1, i), curriculum_text(1, i));
    seen.insert(curriculum_story(1, i));
  }
  EXPECT_GT(seen.size(), 290u);
  EXPECT_NE(curriculum_story(1, 5), curriculum_story(2, 5));
}

}  // namespace
}  // namespace quern
