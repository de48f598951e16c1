// Environment `modular`: remainders of sums of d / 3 + 1 powers, and inverses modulo a number.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

// Works out base^exponent modulo m by squaring: bit by bit from the highest.
int64_t power(int64_t base, int64_t exponent, int64_t m, std::string& steps) {
  int64_t v = base % m, so_far = 1;
  steps += fmt::format("{}^1 leaves {}. ", base, v);
  int bit = 62;
  while ((exponent >> bit) == 0) --bit;
  for (--bit; bit >= 0; --bit) {
    so_far *= 2;
    steps += fmt::format("{}^{}: {} * {} = {} leaves {}. ", base, so_far, v, v, v * v, v * v % m);
    v = v * v % m;
    if ((exponent >> bit & 1) == 0) continue;
    ++so_far;
    steps += fmt::format("{}^{}: {} * {} = {} leaves {}. ", base, so_far, v, base, v * base, v * base % m);
    v = v * base % m;
  }
  return v;
}

Problem powers(Rng& r, int64_t d) {
  const int64_t m = between(r, 5, 20 + 8 * std::min<int64_t>(d, 1000));
  Problem p;
  std::string asked;
  int64_t sum = 0;
  for (int64_t i = 0; i <= d / 3; ++i) {
    const int64_t base = between(r, 2, 9 + std::min<int64_t>(d, 90)), exponent = between(r, 2, 5 + 3 * d);
    asked += fmt::format("{}{}^{}", i == 0 ? "" : " + ", base, exponent);
    const int64_t v = power(base, exponent, m, p.steps);
    if (i > 0) p.steps += fmt::format("{} + {} = {} leaves {}. ", sum, v, sum + v, (sum + v) % m);
    sum = (sum + v) % m;
  }
  p.steps.pop_back();
  p.question = fmt::format("What is the remainder when {} is divided by {}?", asked, m);
  p.answer = std::to_string(sum);
  p.key = fmt::format("{} mod {}", asked, m);
  return p;
}

Problem inverse(Rng& r, int64_t d) {
  int64_t m = 0, a = 0, gcd = 0, x = 0;
  std::string steps;
  do {
    m = between(r, 7 + 5 * d, 20 + 20 * d), a = between(r, 2, m - 1);
    int64_t high = m, low = a, of_high = 0, of_low = 1;  // low = of_low * a modulo m
    steps = fmt::format("{} is 1 * {}. ", a, a);
    while (low > 1) {
      const int64_t q = high / low, next = high - q * low, of_next = of_high - q * of_low;
      steps += fmt::format("{} - {} * {} = {} is {} * {}. ", high, q, low, next, of_next, a);
      high = low, low = next, of_high = of_low, of_low = of_next;
    }
    gcd = low == 1 ? 1 : high, x = (of_low % m + m) % m;
  } while (gcd != 1);
  return {.question = fmt::format("Which whole number x from 1 to {} makes {} * x leave the remainder 1 when it is "
                                  "divided by {}?",
                                  m - 1, a, m),
          .steps = fmt::format("Apart from multiples of {}: {}{} * {} = {} leaves 1.", m, steps, a, x, a * x),
          .answer = std::to_string(x),
          .key = fmt::format("1 / {} mod {}", a, m)};
}

class Modular : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    return difficulty >= 1 && r.below(3) == 0 ? inverse(r, difficulty) : powers(r, difficulty);
  }
  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_integer(p, reply); }
};

}  // namespace

void register_modular(EnvironmentRegistry& r) {
  r.add("modular", "remainders of powers, and inverses modulo a number", std::make_unique<Modular>(),
        "arithmetic and algebra");
}

}  // namespace quern::gym
