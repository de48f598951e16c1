// Environment `repair_function`: a function of the list language with one error, its description and failing
// examples. Any expression that passes all tests is right; what the given function passes already earns nothing.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {

void register_repair_function(EnvironmentRegistry& r) {
  r.add("repair_function", "a function of the list language without its error",
        code::program_environment({.size = {.dialect = code::Dialect::expression},
                                   .pose = code::repair_problem,
                                   .judge = code::judge_repair}),
        "programs");
}

}  // namespace quern::gym
