// Environment `predict_output`: what a function of d / 2 + 1 steps in the list language gives for an argument.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {

void register_predict_output(EnvironmentRegistry& r) {
  r.add("predict_output", "what a function of the list language gives",
        code::program_environment({.size = {.dialect = code::Dialect::expression, .shown = 1, .max_steps = 24},
                                   .pose = code::output_problem,
                                   .judge = code::judge_output}),
        "programs");
}

}  // namespace quern::gym
