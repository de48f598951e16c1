// Environment `c_function`: a C function, by its description in d / 2 + 1 steps and examples. It is compiled and
// run on hidden tests in the sandbox and earns the share that it passes.
#include "quern/code/problems/code_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {
namespace {

code::TaskSize task_size(int64_t difficulty) { return {.dialect = code::Dialect::c, .difficulty = difficulty}; }

class CFunction : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    return code::function_problem(r, task_size(difficulty));
  }
  Verdict verify(const Problem& p, std::string_view reply) const override { return code::judge_in_sandbox(p, reply); }
  std::optional<std::string> unavailable() const override { return code::why_no_sandbox(code::Dialect::c); }
  std::optional<int64_t> saturates_at() const override { return code::last_difficulty(task_size(0)); }
};

}  // namespace

void register_c_function(EnvironmentRegistry& r) {
  r.add("c_function", "a C function by description and examples, tested in the sandbox",
        std::make_unique<CFunction>(), "programs");
}

}  // namespace quern::gym
