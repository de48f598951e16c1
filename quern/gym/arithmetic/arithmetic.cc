// Environment `arithmetic`: sums, differences, products and divisions of whole numbers; from difficulty 5 on the sum of
// d - 2 products.
#include "quern/base/error.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

// Operands without their order or operation: a set of numbers is trained on in every way or in none.
std::string key_of(std::vector<int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return fmt::format("{}", fmt::join(numbers, " "));
}

std::string add_steps(int64_t a, int64_t b) {
  const int64_t ta = a / 10 * 10, tb = b / 10 * 10, oa = a % 10, ob = b % 10;
  return fmt::format("{} + {} = {}. {} + {} = {}. {} + {} = {}.", ta, tb, ta + tb, oa, ob, oa + ob, ta + tb, oa + ob,
                     a + b);
}

std::string subtract_steps(int64_t a, int64_t b) {
  const int64_t tens = b / 10 * 10, ones = b % 10;
  return fmt::format("{} - {} = {}. {} - {} = {}.", a, tens, a - tens, a - tens, ones, a - b);
}

std::string multiply_steps(int64_t a, int64_t b) {  // b of two digits
  const int64_t tens = b / 10 * 10, ones = b % 10;
  return fmt::format("{} * {} = {}. {} * {} = {}. {} + {} = {}.", a, tens, a * tens, a, ones, a * ones, a * tens,
                     a * ones, a * b);
}

Problem products(Rng& r, int64_t count) {
  std::vector<int64_t> numbers;
  std::string sum, steps;
  int64_t value = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t a = between(r, 3, 99), b = between(r, 12, 99);
    numbers.push_back(a), numbers.push_back(b);
    sum += fmt::format("{}{} * {}", i == 0 ? "" : " + ", a, b);
    steps += multiply_steps(a, b) + " ";
    if (i > 0) steps += fmt::format("{} + {} = {}. ", value, a * b, value + a * b);
    value += a * b;
  }
  steps.pop_back();
  return {.question = fmt::format("What is {}?", sum),
          .steps = steps,
          .answer = std::to_string(value),
          .key = key_of(numbers)};
}

Problem arithmetic(Rng& r, int64_t difficulty) {
  if (difficulty > 4) return products(r, difficulty - 2);
  auto asked = [](const std::string& e) { return fmt::format("What is {}?", e); };
  const bool other = r.below(2) == 1;
  if (difficulty <= 1) {
    const int64_t a = difficulty == 0 ? between(r, 0, 19) : between(r, 11, 99),
                  b = difficulty == 0 ? between(r, 0, 19) : between(r, 11, 99), c = a + b;
    Problem p{.answer = std::to_string(other ? a : c), .key = key_of({a, b})};
    p.question = asked(other ? fmt::format("{} - {}", c, b) : fmt::format("{} + {}", a, b));
    if (difficulty == 0)
      p.steps = other ? fmt::format("{} + {} = {}, so {} - {} = {}.", a, b, c, c, b, a)
                      : fmt::format("{} + {} = {}.", a, b, c);
    else
      p.steps = other ? subtract_steps(c, b) : add_steps(a, b);
    return p;
  }
  if (difficulty == 2 || (difficulty == 4 && !other)) {
    const int64_t a = difficulty == 2 ? between(r, 3, 9) : between(r, 101, 999), b = between(r, 12, 99);
    return {.question = asked(fmt::format("{} * {}", a, b)),
            .steps = multiply_steps(a, b),
            .answer = std::to_string(a * b),
            .key = key_of({a, b})};
  }
  if (difficulty == 3) {
    const int64_t a = between(r, 3, 12), b = between(r, 3, 19), c = between(r, 5, 60), d = between(r, 2, 30);
    return {.question = asked(fmt::format("{} * {} + {} - {}", a, b, c, d)),
            .steps = fmt::format("{} * {} = {}. {} + {} = {}. {} - {} = {}.", a, b, a * b, a * b, c, a * b + c,
                                 a * b + c, d, a * b + c - d),
            .answer = std::to_string(a * b + c - d),
            .key = key_of({a, b, c, d})};
  }
  const int64_t d = between(r, 6, 29), q = between(r, 11, 49), rest = between(r, 0, d - 1), n = d * q + rest,
                tens = q / 10 * 10;
  return {.question = fmt::format("Divide {} by {}. What are the quotient and the remainder?", n, d),
          .steps = fmt::format("{} * {} = {}. {} - {} = {}. {} * {} = {}. {} - {} = {}. {} + {} = {}.", d, tens,
                               d * tens, n, d * tens, n - d * tens, d, q - tens, d * (q - tens), n - d * tens,
                               d * (q - tens), rest, tens, q - tens, q),
          .answer = fmt::format("{} remainder {}", q, rest),
          .key = key_of({n, d})};
}

class Arithmetic : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return arithmetic(r, difficulty); }
};

}  // namespace

void register_arithmetic(EnvironmentRegistry& r) {
  r.add("arithmetic", "sums, products and divisions of whole numbers, worked digit by digit",
        std::make_unique<Arithmetic>(), "arithmetic and algebra");
}

}  // namespace quern::gym
