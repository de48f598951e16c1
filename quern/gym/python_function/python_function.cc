// Environment `python_function`: a Python function, by its description in d / 2 + 1 steps and examples. It is
// run on hidden tests in the sandbox and earns the share that it passes.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {
namespace {

code::TaskSize task_size(int64_t difficulty) { return {.dialect = code::Dialect::python, .difficulty = difficulty}; }

class PythonFunction : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    return code::function_problem(r, task_size(difficulty));
  }
  Verdict verify(const Problem& p, std::string_view reply) const override { return code::judge_in_sandbox(p, reply); }
  std::optional<std::string> unavailable() const override { return code::why_no_sandbox(code::Dialect::python); }
  std::optional<int64_t> saturates_at() const override { return code::last_difficulty(task_size(0)); }
};

}  // namespace

void register_python_function(EnvironmentRegistry& r) {
  r.add("python_function", "a Python function by description and examples, tested in the sandbox",
        std::make_unique<PythonFunction>(), "programs");
}

}  // namespace quern::gym
