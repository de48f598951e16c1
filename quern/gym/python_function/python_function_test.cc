// Answers of several kinds are run in the sandbox. Where nothing can be isolated the environment says so, and the tests
// that need it skip.
#include <gtest/gtest.h>

#include "quern/code/code_runner.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

class PythonFunctionInSandbox : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = environment.environment->unavailable()) GTEST_SKIP() << *why;
  }
  const NamedEnvironment& environment = plugin_environments().find("python_function");
};

TEST_F(PythonFunctionInSandbox, IsJudgedByHiddenTests) {
  Problem p{.kind = "python_function"};
  const std::vector<code::CodeTest> tests = {
      {{code::CodeValue::of(std::vector<int64_t>{})}, code::CodeValue::of(0)},
      {{code::CodeValue::of(std::vector<int64_t>{3, -1})}, code::CodeValue::of(4)},
      {{code::CodeValue::of(std::vector<int64_t>{5})}, code::CodeValue::of(10)}};
  p.facts.set("tests", to_json(tests)), p.facts.set("language", "python");
  const std::string right =
      "```python\ndef f(x):\n    total = 0\n    for v in x:\n        total += 2 * v\n    return total\n```";
  EXPECT_EQ(environment.verify(p, right).reward, 1) << environment.verify(p, right).reason;
  EXPECT_EQ(environment.verify(p, "<think>\n```\nx\n```\n</think>\n\nHere:\n" + right + "\nDone.").reward, 1);
  const Verdict part = environment.verify(p, "```python\ndef f(x):\n    return x[0] * 2 if x else 0\n```");
  EXPECT_NEAR(part.reward, 2.0 / 3, 1e-9);
  EXPECT_EQ(part.reason, "2 of 3 tests pass; f([3, -1]): expected 4, found 6");
  EXPECT_EQ(
      environment
          .verify(p,
                  "```python\nclass Same:\n    def __eq__(self, o): return True\ndef f(x):\n    return Same()\n```")
          .reward,
      0);
  const Verdict broken = environment.verify(p, "```python\ndef f(x) return 1\n```");
  EXPECT_EQ(broken.reward, 0);
  EXPECT_NE(broken.reason.find("does not compile"), std::string::npos) << broken.reason;
  EXPECT_EQ(environment.verify(p, "f(x) = 2 * sum(x)").reason, "no code between ``` fences");
}

TEST_F(PythonFunctionInSandbox, HasTheProperties) {
  check_environment("python_function", {.seeds = 2, .difficulties = {0, 3, 13}, .wrong = 1, .several_right = true});
}

// Problems are posed everywhere; the hidden tests are not in the question.
TEST(PythonFunction, PosesProblemsWithHiddenTests) {
  each_generated("python_function", [](const Problem& p) {
    const std::vector<code::CodeTest> tests = code::tests_from(p.facts.at("tests"));
    EXPECT_GE(tests.size(), 9u);
    for (const code::CodeTest& t : tests)
      EXPECT_EQ(p.question.find(fmt::format("f({}) = ", text_of(t.arguments))), std::string::npos);
    EXPECT_EQ(p.answer.substr(0, p.answer.find('\n')), "```python");
  });
}

}  // namespace
}  // namespace quern::gym
