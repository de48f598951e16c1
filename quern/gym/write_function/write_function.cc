// Environment `write_function`: a function of the list language, by its description in d / 2 + 1 steps
// and examples. Any expression that agrees on hidden tests is right; one that passes some of them earns their share.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {
namespace {

code::TaskSize task_size(int64_t difficulty) {
  return {.dialect = code::Dialect::expression, .difficulty = difficulty};
}

class WriteFunction : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    return code::function_problem(r, task_size(difficulty));
  }
  Verdict verify(const Problem& p, std::string_view reply) const override { return code::judge_function(p, reply); }
  std::optional<int64_t> saturates_at() const override { return code::last_difficulty(task_size(0)); }
};

}  // namespace

void register_write_function(EnvironmentRegistry& r) {
  r.add("write_function", "a function in the list language by description and examples",
        std::make_unique<WriteFunction>(), "programs");
}

}  // namespace quern::gym
