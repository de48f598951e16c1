// Sums are worked out again over the common denominator 129600; other forms of the value are accepted.
#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

int64_t times_129600(const std::string& asked) {
  int64_t sum = 0;
  for (const auto& v : numbers_of(asked, "(\\d+)/(\\d+)(?: \\* (\\d+)/(\\d+))?")) {
    const int64_t below = v[1] * (v[3] == 0 ? 1 : v[3]), above = v[0] * (v[3] == 0 ? 1 : v[2]);
    EXPECT_EQ(129600 % below, 0);
    sum += above * (129600 / below);
  }
  return sum;
}

TEST(Fractions, AreRight) {
  each_generated("fractions", [](const Problem& p) {
    std::string asked = p.question.substr(8, p.question.find('?') - 8);
    int64_t sum = 0;
    for (char sign = '+'; !asked.empty();) {  // term by term
      const size_t end = std::min(asked.find(" + "), asked.find(" - "));
      sum += (sign == '-' ? -1 : 1) * times_129600(asked.substr(0, end));
      sign = end == asked.npos ? '+' : asked[end + 1];
      asked = end == asked.npos ? "" : asked.substr(end + 3);
    }
    EXPECT_TRUE(same_ratio(p.answer, fmt::format("{}/129600", sum)));
    const int64_t common = std::gcd(sum, int64_t{129600});
    EXPECT_EQ(p.answer,
              common == 129600 ? std::to_string(sum / 129600) : fmt::format("{}/{}", sum / common, 129600 / common));
    const NamedEnvironment& e = plugin_environments().find("fractions");
    EXPECT_EQ(e.verify(p, fmt::format("Answer: {} / {}.", 5 * sum, 5 * 129600)).reward, 1);
    EXPECT_EQ(e.verify(p, fmt::format("Answer: {}/129600", sum + 1)).reward, 0);
    EXPECT_EQ(e.verify(p, fmt::format("Answer: {}/129600", -sum)).reward, sum == 0 ? 1 : 0);
    if (sum >= 0) {
      EXPECT_EQ(e.verify(p, fmt::format("Answer: {} {}/129600", sum / 129600, sum % 129600)).reward, 1);
    }
    const bool exact = sum * 1000000 % 129600 == 0;
    EXPECT_EQ(e.verify(p, fmt::format("Answer: {:.6f}", static_cast<double>(sum) / 129600)).reward, exact ? 1 : 0);
  });
}

TEST(Fractions, SaysWhatIsWrong) {
  const NamedEnvironment& e = plugin_environments().find("fractions");
  const Problem p{.answer = "3/4"};
  EXPECT_EQ(e.verify(p, "6/8").reward, 1);
  EXPECT_EQ(e.verify(p, "0.750").reward, 1);
  EXPECT_EQ(e.verify(p, "2/3").reason, "expected '3/4'");
  for (const char* reply :
       {"3/0", "3/", "/4", "0.x", "3//4", "3/4/1", "- 3/4", "75%", "0.7.5", "--3/4", "nan", "1e0"})
    EXPECT_EQ(e.verify(p, reply).reason, "the answer is not one number") << reply;
  EXPECT_EQ(e.verify(p, std::string(40, '3') + "/4").reward, 0);
}

TEST(Fractions, RefusesMutations) {
  check_mutations("fractions", [](const Problem& p, const std::string& a) { return same_ratio(a, p.answer); });
}

TEST(Fractions, HasTheProperties) { check_environment("fractions"); }

}  // namespace
}  // namespace quern::gym
