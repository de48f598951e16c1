// Environment `python_input`: an argument for which a Python function of d / 2 + 1 steps returns a value. Every
// argument that does and is within the stated format is right.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {

void register_python_input(EnvironmentRegistry& r) {
  r.add("python_input", "an argument for which a Python function returns a value",
        code::program_environment({.size = {.dialect = code::Dialect::python, .max_steps = 24},
                                   .pose = code::input_problem,
                                   .judge = code::judge_input}),
        "programs");
}

}  // namespace quern::gym
