// Environment `invert_function`: an argument for which a function of d / 2 + 1 steps in the list language gives a
// value. Every argument that does and is within the stated format is right.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {

void register_invert_function(EnvironmentRegistry& r) {
  r.add("invert_function", "an argument for which a function of the list language gives a value",
        code::program_environment({.size = {.dialect = code::Dialect::expression, .max_steps = 24},
                                   .pose = code::input_problem,
                                   .judge = code::judge_input}),
        "programs");
}

}  // namespace quern::gym
