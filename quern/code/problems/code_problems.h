// Problems of the gym about generated programs, in any of the three languages, and their verdicts.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "quern/code/random_program.h"
#include "quern/gym/environment.h"

namespace quern::gym {

// What does f give for these arguments?
Problem output_problem(Rng& r, const code::TaskSize& size);
Verdict judge_output(const Problem& p, std::string_view reply);

// For which arguments does f give this?
Problem input_problem(Rng& r, const code::TaskSize& size);
Verdict judge_input(const Problem& p, std::string_view reply);

// Write f, by its description and examples. In Python and C the function runs in a sandbox.
Problem function_problem(Rng& r, const code::TaskSize& size);
Verdict judge_function(const Problem& p, std::string_view reply);    // of the list language
Verdict judge_in_sandbox(const Problem& p, std::string_view reply);  // of Python and C; throws Error without sandbox
std::optional<std::string> why_no_sandbox(code::Dialect dialect);

// Correct f, a program with one error. What the given program passes already earns nothing.
Problem repair_problem(Rng& r, const code::TaskSize& size);
Verdict judge_repair(const Problem& p, std::string_view reply);

// For which arguments does f, a program with one error, not do what its description says?
Problem falsify_problem(Rng& r, const code::TaskSize& size);
Verdict judge_falsification(const Problem& p, std::string_view reply);

}  // namespace quern::gym
