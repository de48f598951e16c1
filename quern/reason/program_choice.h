// Chooses among candidate programs for one problem, the test-time step for code: those that pass the public tests
// compete, and where none does, all that give results. Those with the same results on all inputs are one group; the
// largest group wins, and of it the shortest program. Nothing here sees hidden tests.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quern/code/code_runner.h"

namespace quern::reason {

struct ProgramProblem {
  code::CodeSignature signature = {};
  std::vector<code::CodeTest> public_tests = {};  // of the question
  std::vector<code::Arguments> inputs = {};       // more arguments, sampled, whose results nobody knows
};

struct ProgramChoice {
  int64_t chosen = -1;               // of the candidates; −1: none gives any result
  std::vector<size_t> passed;        // public tests, for each candidate
  std::vector<int64_t> groups;       // the group of each candidate; −1: it does not compete
  double agreement = 0;              // share of those that compete with the chosen one's results
  bool passes_public_tests = false;  // the chosen one passes all of them
};

// The outputs of a program on many arguments, such as CodeRunner::run().
using RunOnInputs =
    std::function<std::vector<code::TestOutput>(const std::string& program, std::span<const code::Arguments> inputs)>;

// An empty program stands for a candidate without code. Equal programs are run once.
ProgramChoice choose_program(std::span<const std::string> programs, const ProgramProblem& problem,
                             const RunOnInputs& run);

// In the sandbox. Throws Error where code cannot be isolated.
ProgramChoice choose_program(std::span<const std::string> programs, const ProgramProblem& problem,
                             code::CodeLanguage language);

}  // namespace quern::reason
