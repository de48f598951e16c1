// Environment `python_falsify`: an argument for which a Python function with one error differs from its
// description. Every argument that does and is within the stated format is right.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {
namespace {

code::TaskSize task_size(int64_t difficulty) { return {.dialect = code::Dialect::python, .difficulty = difficulty}; }

class PythonFalsify : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    return code::falsify_problem(r, task_size(difficulty));
  }
  Verdict verify(const Problem& p, std::string_view reply) const override {
    return code::judge_falsification(p, reply);
  }
  std::optional<int64_t> saturates_at() const override { return code::last_difficulty(task_size(0)); }
};

}  // namespace

void register_python_falsify(EnvironmentRegistry& r) {
  r.add("python_falsify", "an argument for which a wrong Python function fails", std::make_unique<PythonFalsify>(),
        "programs");
}

}  // namespace quern::gym
