// The programs of the questions are run by Python.
#include <gtest/gtest.h>

#include "quern/code/problems/python_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

TEST(PythonOutput, AsksWhatPythonPrints) {
  QUERN_NEEDS_PYTHON();
  std::vector<Problem> problems;
  std::vector<std::string> programs;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    problems.push_back(plugin_environments().find("python_output").generate(seed, static_cast<int64_t>(seed % 30)));
    programs.push_back(code::python_in(problems.back().question));
  }
  const std::vector<std::string> lines = code::python_prints(programs);
  for (size_t i = 0; i < problems.size(); ++i) EXPECT_EQ(problems[i].answer, lines[i]) << problems[i].question;
}

TEST(PythonOutput, ReadsValues) {
  const NamedEnvironment& e = plugin_environments().find("python_output");
  Problem p{.kind = "python_output"};
  p.facts.set("expected", "a b ");
  for (const char* right : {"'a b '", "Answer: \"a b \"", "Answer: 'a b '."})
    EXPECT_EQ(e.verify(p, right).reward, 1) << right;
  for (const char* wrong : {"a b ", "'a b'", "'a  b '", "'A b '", "'a b ", ""})
    EXPECT_EQ(e.verify(p, wrong).reward, 0) << wrong;
  EXPECT_EQ(e.verify(p, "'x'").reason, "expected 'a b '");
  p.facts.set("expected", Json::parse("[1, -2]"));
  for (const char* right : {"[1, -2]", "Answer: [1,-2]", "[ 1 , -2 ]."})
    EXPECT_EQ(e.verify(p, right).reward, 1) << right;
  for (const char* wrong : {"[1, 2]", "[1 -2]", "1, -2", "(1, -2)", "[1, -2] [1, -2]", "[-2, 1]", "1"})
    EXPECT_EQ(e.verify(p, wrong).reward, 0) << wrong;
}

TEST(PythonOutput, HasTheProperties) { check_environment("python_output"); }

}  // namespace
}  // namespace quern::gym
