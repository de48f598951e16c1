// The program of the question is run by the interpreter of the tests, for every input.
#include <gtest/gtest.h>

#include "quern/gym/tiny_program_checks.h"
#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

struct Asked {
  long highest = 0, target = 0;
  std::string program;
};

Asked asked(const std::string& question) {
  static const std::regex parts("from 0 to (\\d+) and runs: (.*); print x\\..* prints (\\d+)\\.");
  std::smatch m;
  if (!std::regex_search(question, m, parts)) return {};
  return {std::stol(m[1]), std::stol(m[3]), m[2]};
}

bool prints(const Asked& a, long x) { return ProgramText(a.program).run({{"x", x}}).at("x") == a.target; }

bool is_input(const Problem& p, const std::string& given) {
  static const std::regex number("-?\\d{1,18}");
  if (!std::regex_match(given, number)) return false;
  const Asked a = asked(p.question);
  const long x = std::stol(given);
  return x >= 0 && x <= a.highest && !a.program.empty() && prints(a, x);
}

TEST(FindInput, IsRight) { check_verifier("find_input", is_input); }
TEST(FindInput, HasTheProperties) { check_environment("find_input", {.wrong = 1}); }  // several inputs may be right

TEST(FindInput, JudgesEveryInput) {
  const NamedEnvironment& e = plugin_environments().find("find_input");
  int several = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Problem p = e.generate(seed, static_cast<int64_t>(seed % 5));
    const Asked a = asked(p.question);
    int right = 0;
    for (long x = 0; x <= a.highest; ++x) {
      EXPECT_EQ(e.verify(p, std::to_string(x)).reward, prints(a, x) ? 1 : 0) << p.question << x;
      right += prints(a, x) ? 1 : 0;
    }
    EXPECT_GT(right, 0);
    several += right > 1 ? 1 : 0;
    EXPECT_EQ(e.verify(p, std::to_string(a.highest + 1)).reason,
              fmt::format("{} is outside the range of x", a.highest + 1));
  }
  EXPECT_GT(several, 0);
}

}  // namespace
}  // namespace quern::gym
