// Test helper: problems of a kind at every level and beyond, and what the tests read out of their texts.
#pragma once
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/gym/curriculum_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {

// Calls f with n problems of each split at each level, and n of each difficulty beyond.
template <class F>
void each_problem(const std::string& kind, F&& f, uint64_t n = 250) {
  const auto check = [&](const Problem& p) {
    ASSERT_EQ(p.kind, kind);
    SCOPED_TRACE(plain_form(p));
    f(p);
  };
  for (int level = 1; level <= 5; ++level)
    for (data::Split split : {data::Split::train, data::Split::held_out})
      for (uint64_t i = 0; i < n && !testing::Test::HasFailure(); ++i) {
        const Problem p = curriculum_problem(
            {.split = split, .seed = 7, .min_level = level, .max_level = level, .kinds = {kind}}, i);
        ASSERT_EQ(p.level, level);
        ASSERT_EQ(p.difficulty, level - 1);
        check(p);
      }
  for (int64_t d : {5, 6, 7, 10, 17})
    for (uint64_t seed = 0; seed < n && !testing::Test::HasFailure(); ++seed)
      check(plugin_environments().find(kind).generate(seed, d));
}

inline std::vector<int64_t> numbers_in(const std::string& s) {
  static const std::regex number("\\d+");
  std::vector<int64_t> v;
  for (std::sregex_iterator i(s.begin(), s.end(), number), end; i != end; ++i) v.push_back(std::stoll(i->str()));
  return v;
}

// Every "a op b = c" of a trace is true.
inline void expect_true_steps(const std::string& steps) {
  static const std::regex equation("(\\d+) ([-+*/]) (\\d+) = (\\d+)");
  for (std::sregex_iterator i(steps.begin(), steps.end(), equation), end; i != end; ++i) {
    const int64_t a = std::stoll((*i)[1]), b = std::stoll((*i)[3]), c = std::stoll((*i)[4]);
    const char op = (*i)[2].str()[0];
    EXPECT_EQ(op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b, c) << i->str();
    EXPECT_TRUE(op != '/' || a % b == 0);
  }
}

}  // namespace quern::gym
