// Environment `divisibility`: the greatest common divisor or least common multiple of d / 2 + 2 numbers, and the
// prime factors of one number with d / 2 + 2 of them, at most ten.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr std::array<int64_t, 15> kPrimes = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47};

std::string euclid_steps(int64_t a, int64_t b) {
  std::string s;
  for (; b != 0; std::tie(a, b) = std::pair(b, a % b)) s += fmt::format("{} = {} * {} + {}. ", a, a / b, b, a % b);
  return s;
}

int64_t gcd_of(int64_t a, int64_t b) { return b == 0 ? a : gcd_of(b, a % b); }

Problem of_several(Rng& r, int64_t d, std::string_view what) {
  const bool lcm = what == "least common multiple";
  const int64_t count = d / 2 + 2;
  std::vector<int64_t> numbers;
  if (lcm) {  // divisors of one number, so that the multiple stays small
    std::vector<int64_t> primes;
    for (int64_t i = 0, n = 3 + std::min<int64_t>(d, 6); i < n; ++i)
      primes.push_back(kPrimes[r.below(d < 3 ? 3 : 6)]);
    while (std::ssize(numbers) < count) {
      int64_t x = 1;
      for (int64_t q : primes)
        if (r.below(2) == 1) x *= q;
      if (x > 1) numbers.push_back(x);
    }
  } else {
    const int64_t common = between(r, 2, 9 + 4 * std::min<int64_t>(d, 100));
    while (std::ssize(numbers) < count) numbers.push_back(common * between(r, 1, 9 + 3 * std::min<int64_t>(d, 100)));
  }
  Problem p;
  int64_t value = numbers[0];
  for (size_t i = 1; i < numbers.size(); ++i) {
    const int64_t x = numbers[i], g = gcd_of(value, x);
    p.steps += fmt::format("Of {} and {}: {}", value, x, euclid_steps(value, x));
    p.steps += lcm ? fmt::format("Both are divisible by {}: {} / {} * {} = {}. ", g, value, g, x, value / g * x)
                   : fmt::format("Both are divisible by {}. ", g);
    value = lcm ? value / g * x : g;
  }
  p.steps.pop_back();
  p.question = fmt::format("What is the {} of {}?", what, fmt::join(numbers, ", "));
  p.answer = std::to_string(value);
  std::sort(numbers.begin(), numbers.end());
  p.key = fmt::format("{} {}", what, fmt::join(numbers, " "));
  return p;
}

Problem prime_factors(Rng& r, int64_t d) {
  std::vector<int64_t> primes;
  const size_t known = std::min(kPrimes.size(), 4 + static_cast<size_t>(d));
  for (int64_t i = 0, n = 2 + std::min<int64_t>(d / 2, 8); i < n; ++i) primes.push_back(kPrimes[r.below(known)]);
  std::sort(primes.begin(), primes.end());
  int64_t n = 1;
  for (int64_t q : primes) n *= q;
  Problem p;
  int64_t left = n;
  for (size_t i = 0; i + 1 < primes.size(); ++i, left /= primes[i - 1])
    p.steps += fmt::format("{} / {} = {}. ", left, primes[i], left / primes[i]);
  p.steps += fmt::format("{} is prime.", left);
  p.question = fmt::format("Write {} as a product of prime numbers, in the form 2 * 2 * 101.", n);
  p.answer = fmt::format("{}", fmt::join(primes, " * "));
  p.key = fmt::format("factors {}", n);
  Json::Array hidden(primes.begin(), primes.end());
  p.facts.set("primes", Json(std::move(hidden)));
  return p;
}

// The prime factors of "2 * 2 * 3" or "2^2 * 3", in rising order; empty for what is no such product.
std::vector<int64_t> factors_in(std::string_view text) {
  std::vector<int64_t> out;
  for (size_t i = 0, end; i <= text.size(); i = end + 1) {
    end = std::min(text.find('*', i), text.size());
    std::string_view item = text.substr(i, end - i);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    const size_t hat = item.find('^');
    const std::optional<int64_t> base = integer_in(item.substr(0, hat)),
                                 power = hat == item.npos ? 1 : integer_in(item.substr(hat + 1));
    if (!base || !power || *power < 1 || *power > 60 || out.size() > 100) return {};
    out.insert(out.end(), static_cast<size_t>(*power), *base);
  }
  std::sort(out.begin(), out.end());
  return out;
}

class Divisibility : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const uint64_t kind = r.below(3);
    if (kind == 2) return prime_factors(r, difficulty);
    return of_several(r, difficulty, kind == 1 ? "least common multiple" : "greatest common divisor");
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const Json* hidden = p.facts.find("primes");
    if (!hidden) return judge_integer(p, reply);
    const std::vector<int64_t> factors = factors_in(final_answer(reply));
    if (factors.empty()) return {0, "the answer is not a product of numbers"};
    const Json::Array& primes = hidden->as_array();
    const auto same = [](int64_t a, const Json& b) { return a == b.as_int(); };
    if (std::equal(factors.begin(), factors.end(), primes.begin(), primes.end(), same))
      return {1, "the prime factors"};
    return {0, fmt::format("expected '{}'", p.answer)};
  }
};

}  // namespace

void register_divisibility(EnvironmentRegistry& r) {
  r.add("divisibility", "greatest common divisors, least common multiples and prime factors",
        std::make_unique<Divisibility>(), "arithmetic and algebra");
}

}  // namespace quern::gym
