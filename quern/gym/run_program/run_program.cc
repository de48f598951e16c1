// Environment `run_program`: what a program of d + 2 statements over two or three variables prints.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"
#include "quern/gym/tiny_program.h"

namespace quern::gym {
namespace {

class RunProgram : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const size_t variables = difficulty < 3 ? 2 : 3;
    TinyProgram program;
    for (size_t v = 0; v < variables; ++v) program.push_back({.variable = v, .number = between(r, 0, 9)});
    for (TinyStatement& s : random_program(r, difficulty + 2, variables)) program.push_back(std::move(s));
    Problem p{.key = text_of(program)};
    p.question = fmt::format(
        "What does this program print? % is the remainder of a division, and what stands in braces is repeated or "
        "runs on a condition. {}; print x",
        p.key);
    TinyState state{};
    run(program, state, &p.steps);
    p.steps += fmt::format("print {}.", state[0]);
    p.answer = std::to_string(state[0]);
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_number(p, reply); }
};

}  // namespace

void register_run_program(EnvironmentRegistry& r) {
  r.add("run_program", "what a small program prints", std::make_unique<RunProgram>(), "programs");
}

}  // namespace quern::gym
