// Environment `python_falsify`: an argument for which a Python function with one error differs from its
// description. Every argument that does and is within the stated format is right.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {

void register_python_falsify(EnvironmentRegistry& r) {
  r.add("python_falsify", "an argument for which a wrong Python function fails",
        code::program_environment({.size = {.dialect = code::Dialect::python},
                                   .pose = code::falsify_problem,
                                   .judge = code::judge_falsification}),
        "programs");
}

}  // namespace quern::gym
