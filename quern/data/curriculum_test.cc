// The generator: right sums, repeatable texts, splits that never meet.
#include "quern/data/curriculum.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

namespace quern::data {
namespace {

TEST(Curriculum, SumsAreRight) {
  int plus = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    std::string s = curriculum_sum(Split::train, i);
    int a = 0, b = 0, c = 0;
    char op = 0;
    ASSERT_EQ(std::sscanf(s.c_str(), "%d %c %d = %d.", &a, &op, &b, &c), 4) << s;
    EXPECT_EQ(op == '+' ? a + b : a - b, c) << s;
    plus += op == '+';
  }
  EXPECT_GT(plus, 800);
  EXPECT_LT(plus, 1200);
}

TEST(Curriculum, SameIndexSameText) {
  std::set<std::string> seen;
  for (uint64_t i = 0; i < 300; ++i) {
    EXPECT_EQ(curriculum_text(Split::train, i), curriculum_text(Split::train, i));
    seen.insert(curriculum_story(Split::train, i));
  }
  EXPECT_GT(seen.size(), 290u);
}

// A pair of operands is on one side only, in both directions; a story too.
TEST(Curriculum, SplitsNeverMeet) {
  std::set<std::pair<int, int>> pairs[2];
  std::set<std::string> stories[2];
  for (int side = 0; side < 2; ++side)
    for (uint64_t i = 0; i < 6000; ++i) {
      Split split = side ? Split::held_out : Split::train;
      int a = 0, b = 0;
      char op = 0;
      std::string s = curriculum_sum(split, i);
      ASSERT_EQ(std::sscanf(s.c_str(), "%d %c %d", &a, &op, &b), 3);
      pairs[side].insert({op == '+' ? a : a - b, b});
      stories[side].insert(curriculum_story(split, i));
    }
  for (auto& p : pairs[1]) EXPECT_EQ(pairs[0].count(p), 0u) << p.first << " and " << p.second;
  for (auto& s : stories[1]) EXPECT_EQ(stories[0].count(s), 0u) << s;
  EXPECT_GT(pairs[1].size(), 20u);
  EXPECT_LT(pairs[1].size(), 80u);  // of 400
}

}  // namespace
}  // namespace quern::data
