// The program is read out of the question and run by the interpreter of the tests.
#include <gtest/gtest.h>

#include "quern/gym/tiny_program_checks.h"
#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

bool is_printed(const Problem& p, const std::string& given) {
  const size_t from = p.question.find("condition. ") + 11, to = p.question.rfind("; print x");
  const long x = ProgramText(p.question.substr(from, to - from)).run().at("x");
  return plain_answer_words(given) == std::vector<std::string>{std::to_string(x)} &&
         given.find_first_of(" ,;") == given.npos;
}

TEST(RunProgram, IsRight) { check_verifier("run_program", is_printed); }
TEST(RunProgram, HasTheProperties) { check_environment("run_program"); }

}  // namespace
}  // namespace quern::gym
