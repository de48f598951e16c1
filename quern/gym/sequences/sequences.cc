// Environment `sequences`: term d + 4 of a sequence whose rule is stated; remainders keep the terms short.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

Problem sequences(Rng& r, int64_t d) {
  const int64_t n = d + 4, m = d < 3 ? 10 : d < 8 ? 100 : 1000, high = d < 3 ? 3 : 9;
  const int64_t first = between(r, 1, 9), second = between(r, 1, 9), a = between(r, 1, high), b = between(r, 1, high),
                c = between(r, 0, 9);
  Problem p;
  int64_t before = first, last = second;
  for (int64_t i = 3; i <= n; ++i) {
    const int64_t sum = a * last + b * before + c, next = sum % m;
    p.steps += fmt::format("{}Term {}: {} * {} + {} * {} + {} = {}, keep {}.", i == 3 ? "" : " ", i, a, last, b,
                           before, c, sum, next);
    before = last, last = next;
  }
  p.question = fmt::format(
      "A sequence starts with {}, {}. Each next term: add {} times the last term, {} times the term before it, and "
      "{}; "
      "then keep the remainder on division by {}. What is term {}?",
      first, second, a, b, c, m, n);
  p.answer = std::to_string(last);
  p.key = fmt::format("{} {} {} {} {} {}", first, second, a, b, c, m);
  return p;
}

class Sequences : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return sequences(r, difficulty); }
  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_integer(p, reply); }
};

}  // namespace

void register_sequences(EnvironmentRegistry& r) {
  r.add("sequences", "a later term of a sequence whose rule is stated", std::make_unique<Sequences>(),
        "arithmetic and algebra");
}

}  // namespace quern::gym
