// Problems of the gym about generated programs, in any of the three languages, and their verdicts.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "quern/code/random_program.h"
#include "quern/gym/environment.h"

namespace quern::code {

// What does f give for these arguments?
gym::Problem output_problem(Rng& r, const TaskSize& size);
gym::Verdict judge_output(const gym::Problem& p, std::string_view reply);

// For which arguments does f give this?
gym::Problem input_problem(Rng& r, const TaskSize& size);
gym::Verdict judge_input(const gym::Problem& p, std::string_view reply);

// Write f, by its description and examples. In Python and C the function runs in a sandbox.
gym::Problem function_problem(Rng& r, const TaskSize& size);
gym::Verdict judge_function(const gym::Problem& p, std::string_view reply);  // of the list language
// Of Python and C. Throws Error where no sandbox can be had.
gym::Verdict judge_in_sandbox(const gym::Problem& p, std::string_view reply);
std::optional<std::string> why_no_sandbox(Dialect dialect);

// Correct f, a program with one error. What the given program passes already earns nothing.
gym::Problem repair_problem(Rng& r, const TaskSize& size);
gym::Verdict judge_repair(const gym::Problem& p, std::string_view reply);

// For which arguments does f, a program with one error, not do what its description says?
gym::Problem falsify_problem(Rng& r, const TaskSize& size);
gym::Verdict judge_falsification(const gym::Problem& p, std::string_view reply);

// An environment of them: how large a program is at difficulty 0, and two of the functions above.
struct ProgramEnvironment {
  TaskSize size;
  gym::Problem (*pose)(Rng&, const TaskSize&);
  gym::Verdict (*judge)(const gym::Problem&, std::string_view);
};
std::unique_ptr<gym::Environment> program_environment(const ProgramEnvironment& e);

}  // namespace quern::code
