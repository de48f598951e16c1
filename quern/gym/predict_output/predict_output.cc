// Environment `predict_output`: what a function of d / 2 + 1 steps in the list language gives for an argument.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {
namespace {

code::TaskSize task_size(int64_t difficulty) {
  return {.dialect = code::Dialect::expression, .difficulty = difficulty, .shown = 1, .max_steps = 24};
}

class PredictOutput : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    return code::output_problem(r, task_size(difficulty));
  }
  Verdict verify(const Problem& p, std::string_view reply) const override { return code::judge_output(p, reply); }
  std::optional<int64_t> saturates_at() const override { return code::last_difficulty(task_size(0)); }
};

}  // namespace

void register_predict_output(EnvironmentRegistry& r) {
  r.add("predict_output", "what a function of the list language gives", std::make_unique<PredictOutput>(),
        "programs");
}

}  // namespace quern::gym
