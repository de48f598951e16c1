// Environment `find_input`: an input for which a program of d / 2 + 2 statements prints a given number. Every input that
// does is accepted.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"
#include "quern/gym/tiny_program.h"

namespace quern::gym {
namespace {

int64_t printed(const TinyProgram& program, int64_t input, std::string* trace = nullptr) {
  TinyState state = {input, 0, 0};
  run(program, state, trace);
  return state[0];
}

class FindInput : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const int64_t highest = 9 + 10 * std::min<int64_t>(difficulty, 99), input = between(r, 0, highest);
    TinyProgram program = {{.variable = 1, .number = between(r, 0, 9)}};
    for (TinyStatement& s : random_program(r, difficulty / 2 + 2, 2)) program.push_back(std::move(s));
    Problem p;
    p.steps = fmt::format("Try x = {}: ", input);
    const int64_t target = printed(program, input, &p.steps);
    p.steps += fmt::format("print {}. This is the number.", target);
    p.key = fmt::format("{} to {}: {}", text_of(program), highest, target);
    p.question = fmt::format(
        "A program reads a whole number x from 0 to {} and runs: {}; print x. Here % is the remainder of a "
        "division, and what stands in braces is repeated or runs on a condition. Give a number x for which it "
        "prints {}. If there are several, give one.",
        highest, text_of(program), target);
    p.answer = std::to_string(input);
    p.facts.set("program", to_json(program)), p.facts.set("highest", highest), p.facts.set("target", target);
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const auto x = answer_number(final_answer(reply));
    if (!x) return {0, "the answer is not a whole number"};
    if (*x < 0 || *x > p.facts.at("highest").as_int()) return {0, fmt::format("{} is outside the range of x", *x)};
    const int64_t found = printed(tiny_program(p.facts.at("program")), *x);
    if (found != p.facts.at("target").as_int()) return {0, fmt::format("for {} it prints {}", *x, found)};
    return {1, "it prints the number"};
  }
};

}  // namespace

void register_find_input(EnvironmentRegistry& r) {
  r.add("find_input", "an input for which a program prints a given number", std::make_unique<FindInput>(),
        "programs");
}

}  // namespace quern::gym
