// Divisors and multiples are found with the standard library, prime factors by trial.
#include <cmath>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

bool is_prime(int64_t n) {
  for (int64_t q = 2; q * q <= n; ++q)
    if (n % q == 0) return false;
  return n > 1;
}

TEST(Divisibility, IsRight) {
  const NamedEnvironment& e = plugin_environments().find("divisibility");
  each_generated("divisibility", [&](const Problem& p) {
    std::vector<int64_t> v;
    for (const auto& n : numbers_of(p.question, "(\\d+)")) v.push_back(n[0]);
    if (p.question.starts_with("Write ")) {
      int64_t product = 1;
      std::string back, powers;
      const auto factors = numbers_of(p.answer, "(\\d+)");
      for (size_t i = 0; i < factors.size(); ++i) {
        const int64_t q = factors[i][0];
        product *= q;
        EXPECT_TRUE(is_prime(q));
        back = fmt::format("{}{}{}", q, back.empty() ? "" : "*", back);
        const auto count = std::count(factors.begin(), factors.end(), factors[i]);
        if (i == 0 || factors[i - 1] != factors[i]) powers += fmt::format("{}{}^{}", i == 0 ? "" : " * ", q, count);
      }
      EXPECT_EQ(product, v[0]);
      EXPECT_EQ(e.verify(p, back).reward, 1) << back;
      EXPECT_EQ(e.verify(p, powers).reward, 1) << powers;
      EXPECT_EQ(e.verify(p, fmt::format("1 * {}", p.answer)).reward, 0);
      EXPECT_EQ(e.verify(p, std::to_string(v[0])).reward, 0);
      EXPECT_EQ(e.verify(p, p.answer + " * 2^9999999").reward, 0);
      EXPECT_EQ(e.verify(p, "2 *").reason, "the answer is not a product of numbers");
      return;
    }
    ASSERT_EQ(std::ssize(v), 2 + p.difficulty / 2);
    const bool lcm = p.question.find("multiple") != std::string::npos;
    int64_t value = v[0];
    for (int64_t x : v) value = lcm ? std::lcm(value, x) : std::gcd(value, x);
    EXPECT_EQ(p.answer, std::to_string(value));
    EXPECT_EQ(e.verify(p, std::to_string(value + 1)).reason, fmt::format("expected '{}'", value));
  });
}

TEST(Divisibility, RefusesMutations) {
  check_mutations("divisibility", [](const Problem& p, const std::string& a) {
    if (!p.question.starts_with("Write ")) return is_the_integer(p, a);
    static const std::regex form(" *\\+?\\d+(\\^\\+?\\d+)? *(\\* *\\+?\\d+(\\^\\+?\\d+)? *)*");
    if (!std::regex_match(a, form)) return false;
    double product = 1;
    static const std::regex factor("(\\d+)(?:\\^\\+?(\\d+))?");
    for (std::sregex_iterator i(a.begin(), a.end(), factor), end; i != end; ++i) {
      const int64_t power = (*i)[2].matched ? std::stoll((*i)[2]) : 1;
      if (!is_prime(std::stoll((*i)[1])) || power < 1) return false;
      product *= std::pow(std::stod((*i)[1]), static_cast<double>(power));
    }
    return product == std::stod(p.question.substr(6));
  });
}

TEST(Divisibility, HasTheProperties) { check_environment("divisibility"); }

}  // namespace
}  // namespace quern::gym
