// The choice among candidate programs: by public tests, by groups of equal results, and by the sandbox.
#include "quern/reason/program_choice.h"

#include <gtest/gtest.h>

#include <map>

namespace quern::reason {
namespace {

using code::Arguments, code::CodeValue, code::TestOutput;

Arguments arguments(int64_t n) { return {CodeValue::of(n)}; }

// Programs of one letter: a doubles, b does so as well, c is wrong from 3 on, d is wrong everywhere, e fails from 2 on.
std::vector<TestOutput> run_letters(const std::string& program, std::span<const Arguments> inputs) {
  std::vector<TestOutput> out;
  for (const Arguments& a : inputs) {
    const int64_t n = a.x.number;
    const char p = program[0];
    if (p == 'x' || (p == 'e' && n >= 2))
      out.push_back({{}, "ended"});
    else
      out.push_back({CodeValue::of(p == 'd' || (p == 'c' && n >= 3) ? -1 : 2 * n)});
  }
  return out;
}

ProgramChoice chosen(const std::vector<std::string>& programs, size_t public_tests) {
  ProgramProblem problem;
  for (size_t i = 0; i < public_tests; ++i)
    problem.public_tests.push_back(
        {arguments(static_cast<int64_t>(i) + 1), CodeValue::of(2 * static_cast<int64_t>(i) + 2)});
  for (int64_t n : {3, 4, 5}) problem.inputs.push_back(arguments(n));
  return choose_program(programs, problem, run_letters);
}

TEST(ProgramChoice, LetsThoseCompeteThatPassThePublicTests) {
  const ProgramChoice c = chosen({"d", "d2", "d3", "a", "e"}, 2);  // most agree on what is wrong
  EXPECT_EQ(c.chosen, 3);
  EXPECT_TRUE(c.passes_public_tests);
  EXPECT_EQ(c.passed, (std::vector<size_t>{0, 0, 0, 2, 1}));
  EXPECT_EQ(c.groups, (std::vector<int64_t>{-1, -1, -1, 0, -1}));
  EXPECT_EQ(c.agreement, 1);
}

TEST(ProgramChoice, TakesTheLargestGroupOfEqualResults) {
  const ProgramChoice c = chosen({"c", "a long one", "b", "c"}, 2);  // two and two: the shorter of the first group
  EXPECT_EQ(c.groups, (std::vector<int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(c.agreement, 0.5);
  EXPECT_EQ(c.chosen, 0);
  EXPECT_EQ(chosen({"c", "a long one", "b", "a"}, 2).chosen, 2);  // three agree; the first of the shortest
  EXPECT_NEAR(chosen({"c", "a long one", "b", "a"}, 2).agreement, 0.75, 1e-9);
}

TEST(ProgramChoice, LetsTheMajorityDecideWithoutTests) {
  const ProgramChoice c = chosen({"d", "a", "d2", "x"}, 0);
  EXPECT_EQ(c.chosen, 0);
  EXPECT_EQ(c.groups, (std::vector<int64_t>{0, 1, 0, -1}));
  EXPECT_NEAR(c.agreement, 2.0 / 3, 1e-9);
  const ProgramChoice none_passes = chosen({"d", "e", "d2", "x"}, 2);
  EXPECT_EQ(none_passes.chosen, 0);
  EXPECT_FALSE(none_passes.passes_public_tests);
}

TEST(ProgramChoice, ChoosesNothingWithoutResults) {
  EXPECT_EQ(chosen({"x", "", "x"}, 2).chosen, -1);
  EXPECT_EQ(chosen({}, 2).chosen, -1);
  EXPECT_EQ(chosen({"", "a"}, 0).chosen, 1);
}

TEST(ProgramChoice, RunsEqualProgramsOnce) {
  std::map<std::string, int> runs;
  const std::vector<std::string> programs = {"a", "b", "a", "a"};
  const ProgramProblem problem{.inputs = {arguments(1)}};
  choose_program(programs, problem, [&](const std::string& p, std::span<const Arguments> inputs) {
    ++runs[p];
    return run_letters(p, inputs);
  });
  EXPECT_EQ(runs, (std::map<std::string, int>{{"a", 1}, {"b", 1}}));
}

TEST(ProgramChoice, RunsInTheSandbox) {
  if (const auto why = code::why_unavailable(code::CodeLanguage::python)) GTEST_SKIP() << *why;
  const std::vector<std::string> programs = {"def f(x): return x", "def f(x): return x * 2",
                                             "def f(x): return x ** 2", "import sys\nsys.exit()",
                                             "def f(x):\n    return x + x"};
  const ProgramProblem problem{.public_tests = {{arguments(2), CodeValue::of(4)}},
                               .inputs = {arguments(3), arguments(7)}};
  const ProgramChoice c = choose_program(programs, problem, code::CodeLanguage::python);
  EXPECT_EQ(c.chosen, 1);  // 2 * 2 and 2 ** 2 pass; two of three agree on 3 and 7
  EXPECT_EQ(c.groups, (std::vector<int64_t>{-1, 0, 1, -1, 0}));
}

}  // namespace
}  // namespace quern::reason
