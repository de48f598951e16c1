// Environment `repair_function`: a function of the list language with one error, its description and failing
// examples. Any expression that passes all tests is right; what the given function passes already earns nothing.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {
namespace {

code::TaskSize task_size(int64_t difficulty) {
  return {.dialect = code::Dialect::expression, .difficulty = difficulty};
}

class RepairFunction : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    return code::repair_problem(r, task_size(difficulty));
  }
  Verdict verify(const Problem& p, std::string_view reply) const override { return code::judge_repair(p, reply); }
  std::optional<int64_t> saturates_at() const override { return code::last_difficulty(task_size(0)); }
};

}  // namespace

void register_repair_function(EnvironmentRegistry& r) {
  r.add("repair_function", "a function of the list language without its error", std::make_unique<RepairFunction>(),
        "programs");
}

}  // namespace quern::gym
