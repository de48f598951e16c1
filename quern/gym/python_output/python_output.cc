// Environment `python_output`: what a Python program of d / 2 + 1 steps prints.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {

void register_python_output(EnvironmentRegistry& r) {
  r.add("python_output", "what a Python program prints",
        code::program_environment({.size = {.dialect = code::Dialect::python, .shown = 1, .max_steps = 24},
                                   .pose = code::output_problem,
                                   .judge = code::judge_output}),
        "programs");
}

}  // namespace quern::gym
