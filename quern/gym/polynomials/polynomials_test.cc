// Answers have the value of the question at more points than their degree, modulo a prime.
#include <set>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

constexpr int64_t kPrime = 1000000007;

int64_t sum_at(const std::string& terms, int64_t x) {
  static const std::regex term("([-+]?) ?(?:(\\d+) ?(?:\\* ?)?)?(x(?: ?\\^ ?(\\d+))?)?");
  int64_t sum = 0;
  for (std::sregex_iterator i(terms.begin(), terms.end(), term), end; i != end; ++i) {
    if (!(*i)[2].matched && !(*i)[3].matched) continue;
    int64_t v = (*i)[2].matched ? std::stoll((*i)[2]) % kPrime : 1;
    const int64_t power = (*i)[4].matched ? std::stoll((*i)[4]) : (*i)[3].matched ? 1 : 0;
    for (int64_t k = 0; k < std::min<int64_t>(power, 3000); ++k) v = v * x % kPrime;
    sum += (*i)[1] == "-" ? -v : v;
  }
  return sum % kPrime;
}

int64_t asked_at(const std::string& asked, int64_t x) {
  static const std::regex product("(^|[-+]) ?\\(([^)]*)\\)\\(([^)]*)\\)");
  int64_t sum = 0;
  for (std::sregex_iterator i(asked.begin(), asked.end(), product), end; i != end; ++i)
    sum += ((*i)[1] == "-" ? -1 : 1) * (sum_at((*i)[2], x) * sum_at((*i)[3], x) % kPrime);
  return sum % kPrime;
}

std::string asked_of(const Problem& p) { return p.question.substr(7, p.question.find(". Write") - 7); }

bool equal(const std::string& terms, const std::string& asked) {
  for (int64_t x = -6; x <= 6; ++x)
    if ((sum_at(terms, x) - asked_at(asked, x)) % kPrime != 0) return false;
  return true;
}

TEST(Polynomials, AreRight) {
  each_generated("polynomials", [](const Problem& p) {
    EXPECT_TRUE(equal(p.answer, asked_of(p)));
    std::set<int64_t> powers;
    for (const auto& v : numbers_of(p.answer, "x(?:\\^(\\d+))?")) EXPECT_TRUE(powers.insert(v[0]).second);
    const NamedEnvironment& e = plugin_environments().find("polynomials");
    EXPECT_EQ(e.verify(p, asked_of(p)).reward, 0);
    EXPECT_EQ(e.verify(p, p.answer + " + 1 - 1").reward, 0);
    EXPECT_EQ(e.verify(p, p.answer + " + x^7").reward, 0);
    std::string back;  // the terms in the opposite order, with "*" and tight signs
    static const std::regex term("(^-|[-+] |^)([^ ]+)");
    for (std::sregex_iterator i(p.answer.begin(), p.answer.end(), term), end; i != end; ++i)
      back = ((*i)[1].str().starts_with('-') ? "-" : "+") + (*i)[2].str() + back;
    back = std::regex_replace(back, std::regex("(\\d)x"), "$1*x");
    EXPECT_EQ(e.verify(p, back).reward, 1) << back;
  });
}

TEST(Polynomials, SaysWhatIsWrong) {
  const NamedEnvironment& e = plugin_environments().find("polynomials");
  const Problem p{.answer = "x^2 - 1"};
  EXPECT_EQ(e.verify(p, "-1 + 0x + 1*x^2").reward, 1);
  EXPECT_EQ(e.verify(p, "x^2 + 1").reason, "expected 'x^2 - 1'");
  EXPECT_EQ(e.verify(p, "x^2 1").reason, "there is neither + nor - between two terms");
  EXPECT_EQ(e.verify(p, "x^2 - 2 + 1").reason, "x^0 is there twice");
  for (const char* reply : {"(x - 1)(x + 1)", "x^", "x^2 -", "2 * 3", "y", "x^2 - - 1", "x^99999999999999999999"})
    EXPECT_EQ(e.verify(p, reply).reward, 0) << reply;
}

TEST(Polynomials, RefusesMutations) {
  check_mutations("polynomials", [](const Problem& p, const std::string& a) {
    const std::string power = "x(?: ?\\^ ?\\d+)?", term = "(?:\\d+ ?(?:\\* ?)?" + power + "|" + power + "|\\d+)";
    static const std::regex form("[-+]? ?" + term + "(?: ?[-+] ?" + term + ")*");
    if (!std::regex_match(a, form)) return false;
    std::multiset<int64_t> powers;
    static const std::regex one(term);
    for (std::sregex_iterator i(a.begin(), a.end(), one), end; i != end; ++i) {
      const std::string t = i->str();
      const size_t hat = t.find('^');
      powers.insert(hat != t.npos ? std::stoll(t.substr(hat + 1)) : t.find('x') != t.npos ? 1 : 0);
    }
    for (int64_t k : powers)
      if (powers.count(k) > 1) return false;
    return equal(a, asked_of(p));
  });
}

TEST(Polynomials, HasTheProperties) { check_environment("polynomials"); }

}  // namespace
}  // namespace quern::gym
