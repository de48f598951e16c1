// Environment `python_input`: an argument for which a Python function of d / 2 + 1 steps returns a value. Every
// argument that does and is within the stated format is right.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {
namespace {

code::TaskSize task_size(int64_t difficulty) {
  return {.dialect = code::Dialect::python, .difficulty = difficulty, .max_steps = 24};
}

class PythonInput : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    return code::input_problem(r, task_size(difficulty));
  }
  Verdict verify(const Problem& p, std::string_view reply) const override { return code::judge_input(p, reply); }
  std::optional<int64_t> saturates_at() const override { return code::last_difficulty(task_size(0)); }
};

}  // namespace

void register_python_input(EnvironmentRegistry& r) {
  r.add("python_input", "an argument for which a Python function returns a value", std::make_unique<PythonInput>(),
        "programs");
}

}  // namespace quern::gym
