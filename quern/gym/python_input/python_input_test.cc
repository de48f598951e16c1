// The answers are given to the functions of the questions by Python.
#include <gtest/gtest.h>

#include <regex>

#include "quern/code/problems/python_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

std::string target_of(const std::string& question) {
  static const std::regex part("is (.*), where x is ");
  std::smatch m;
  return std::regex_search(question, m, part) ? m[1].str() : "none";
}

// Right answers, and other values of the format: the verdict is what Python says.
TEST(PythonInput, JudgesAsPythonDoes) {
  QUERN_NEEDS_PYTHON();
  const NamedEnvironment& e = plugin_environments().find("python_input");
  std::vector<std::string> programs, targets;
  std::vector<double> rewards;
  Rng r(3);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Problem p = e.generate(seed, static_cast<int64_t>(seed % 20));
    std::vector<std::string> replies = {p.answer};
    for (const code::Arguments& a : code::format_from(p.facts.at("format")).tests(r, 6))
      replies.push_back(text_of(a));
    for (const std::string& reply : replies) {
      rewards.push_back(e.verify(p, reply).reward), targets.push_back(target_of(p.question));
      programs.push_back(fmt::format("{}print(repr(f({})))", code::python_in(p.question), reply));
    }
  }
  const std::vector<std::string> lines = code::python_prints(programs);
  int right = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(rewards[i], lines[i] == targets[i] ? 1 : 0) << programs[i] << lines[i];
    right += rewards[i] == 1 ? 1 : 0;
  }
  EXPECT_GE(right, 200);
  EXPECT_LT(right, 700);
}

TEST(PythonInput, RefusesWhatIsNotInTheFormat) {
  const NamedEnvironment& e = plugin_environments().find("python_input");
  each_generated("python_input", [&](const Problem& p) {
    const char* far = p.answer[0] == '[' ? "[999]" : p.answer[0] == '\'' ? "'A'" : "-1";
    for (const std::string& reply : {"[" + std::string(300, '1') + "]", std::string(far), p.answer + ", 1, 1x"})
      EXPECT_EQ(e.verify(p, reply).reward, 0) << reply;
  });
}

TEST(PythonInput, HasTheProperties) { check_environment("python_input", {.wrong = 1}); }

}  // namespace
}  // namespace quern::gym
