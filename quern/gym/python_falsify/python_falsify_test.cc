// The candidates of the questions are run by Python on the answers: they differ from the description's results.
#include <gtest/gtest.h>

#include "quern/code/code_program.h"
#include "quern/code/problems/python_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

TEST(PythonFalsify, JudgesAsPythonDoes) {
  QUERN_NEEDS_PYTHON();
  const NamedEnvironment& e = plugin_environments().find("python_falsify");
  std::vector<std::string> programs;
  std::vector<double> rewards;
  Rng r(3);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Problem p = e.generate(seed, static_cast<int64_t>(seed % 12));
    const std::string reference = code::python_of(code::program_from(p.facts.at("program")));
    std::vector<std::string> replies = {p.answer};
    for (const code::Arguments& a : code::format_from(p.facts.at("format")).tests(r, 6))
      replies.push_back(text_of(a));
    for (const std::string& reply : replies) {
      rewards.push_back(e.verify(p, reply).reward);
      programs.push_back(
          fmt::format("{}a = f({})\n{}print(a != f({}))", reference, reply, code::python_in(p.question), reply));
    }
  }
  const std::vector<std::string> lines = code::python_prints(programs);
  int found = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(rewards[i], lines[i] == "True" ? 1 : 0) << programs[i];
    found += rewards[i] == 1 ? 1 : 0;
  }
  EXPECT_GE(found, 200);
  EXPECT_LT(found, 1300);
}

TEST(PythonFalsify, TellsWhatIsWrong) {
  const NamedEnvironment& e = plugin_environments().find("python_falsify");
  const Problem p = e.generate(2, 3);
  EXPECT_EQ(e.verify(p, "nothing in particular, and 7 ]").reward, 0);
  EXPECT_EQ(e.verify(p, "\"").reason, "the answer does not read as arguments");
  EXPECT_NE(e.verify(p, p.answer).reason.find(" instead of "), std::string::npos);
}

TEST(PythonFalsify, HasTheProperties) { check_environment("python_falsify", {.wrong = 1}); }

}  // namespace
}  // namespace quern::gym
