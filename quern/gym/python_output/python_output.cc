// Environment `python_output`: what a Python program of d / 2 + 1 steps prints.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {
namespace {

code::TaskSize task_size(int64_t difficulty) {
  return {.dialect = code::Dialect::python, .difficulty = difficulty, .shown = 1, .max_steps = 24};
}

class PythonOutput : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    return code::output_problem(r, task_size(difficulty));
  }
  Verdict verify(const Problem& p, std::string_view reply) const override { return code::judge_output(p, reply); }
  std::optional<int64_t> saturates_at() const override { return code::last_difficulty(task_size(0)); }
};

}  // namespace

void register_python_output(EnvironmentRegistry& r) {
  r.add("python_output", "what a Python program prints", std::make_unique<PythonOutput>(), "programs");
}

}  // namespace quern::gym
