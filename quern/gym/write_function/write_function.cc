// Environment `write_function`: a function of the list language, by its description in d / 2 + 1 steps
// and examples. Any expression that agrees on hidden tests is right; one that passes some of them earns their share.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {

void register_write_function(EnvironmentRegistry& r) {
  r.add("write_function", "a function in the list language by description and examples",
        code::program_environment({.size = {.dialect = code::Dialect::expression},
                                   .pose = code::function_problem,
                                   .judge = code::judge_function}),
        "programs");
}

}  // namespace quern::gym
