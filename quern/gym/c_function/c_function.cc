// Environment `c_function`: a C function, by its description in d / 2 + 1 steps and examples. It is compiled and
// run on hidden tests in the sandbox and earns the share that it passes.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {

void register_c_function(EnvironmentRegistry& r) {
  r.add("c_function", "a C function by description and examples, tested in the sandbox",
        code::program_environment(
            {.size = {.dialect = code::Dialect::c}, .pose = code::function_problem, .judge = code::judge_in_sandbox}),
        "programs");
}

}  // namespace quern::gym
