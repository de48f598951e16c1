// Every expression of three or four numbers is tried and evaluated as a fraction; the verifier agrees on each.
#include <functional>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

struct Value {  // above / below; below 0: undefined
  int64_t above = 0, below = 1;
  std::string text = {};
};

Value applied(const Value& a, char op, const Value& b) {
  Value v{.text = fmt::format("({} {} {})", a.text, op, b.text)};
  switch (op) {
    case '+':
      v.above = a.above * b.below + b.above * a.below, v.below = a.below * b.below;
      break;
    case '-':
      v.above = a.above * b.below - b.above * a.below, v.below = a.below * b.below;
      break;
    case '*':
      v.above = a.above * b.above, v.below = a.below * b.below;
      break;
    default:
      v.above = a.above * b.below, v.below = a.below * b.above;
  }
  return v;
}

void each_value(const std::vector<Value>& left, const std::function<void(const Value&)>& f) {
  if (left.size() == 1) return f(left[0]);
  for (size_t i = 0; i < left.size(); ++i)
    for (size_t k = 0; k < left.size(); ++k)
      for (char op : {'+', '-', '*', '/'}) {
        if (i == k) continue;
        std::vector<Value> next = {applied(left[i], op, left[k])};
        for (size_t n = 0; n < left.size(); ++n)
          if (n != i && n != k) next.push_back(left[n]);
        each_value(next, f);
      }
}

std::vector<Value> given(const Problem& p) {
  std::vector<Value> out;
  const size_t from = p.question.find("numbers ");
  for (const auto& v : numbers_of(p.question.substr(from, p.question.find('.') - from), "(\\d+)"))
    out.push_back({.above = v[0], .text = std::to_string(v[0])});
  return out;
}

int64_t target_of(const Problem& p) { return numbers_of(p.question, "Make (\\d+) ").at(0)[0]; }

TEST(Countdown, AcceptsEveryExpressionThatMakesTheNumber) {
  const NamedEnvironment& e = plugin_environments().find("countdown");
  for (int64_t d : {0, 2})
    for (uint64_t seed = 0; seed < (d == 0 ? 200u : 10u); ++seed) {
      const Problem p = e.generate(seed, d);
      const int64_t target = target_of(p);
      int right = 0;
      each_value(given(p), [&](const Value& v) {
        const bool makes = v.below != 0 && v.above == target * v.below;
        const Verdict verdict = e.verify(p, "Answer: " + v.text);
        EXPECT_EQ(verdict.reward, makes ? 1 : 0) << v.text << " " << p.question << verdict.reason;
        right += makes ? 1 : 0;
      });
      EXPECT_GT(right, 0) << p.question;
    }
}

// An expression without blanks read by recursive descent, in floating point.
class Descent {
 public:
  explicit Descent(const std::string& s) : s_(s) {}
  std::optional<double> read() {
    const double v = sum();
    return good_ && at_ == s_.size() ? std::optional(v) : std::nullopt;
  }

 private:
  char peek() const { return at_ < s_.size() ? s_[at_] : '\0'; }
  double sum() {
    double v = product();
    while (peek() == '+' || peek() == '-') v += (s_[at_++] == '+' ? 1 : -1) * product();
    return v;
  }
  double product() {
    double v = atom();
    while (peek() == '*' || peek() == '/') {
      const bool times = s_[at_++] == '*';
      const double by = atom();
      if (!times && by == 0) good_ = false;
      v = times ? v * by : v / by;
    }
    return v;
  }
  double atom() {
    if (peek() == '(') {
      ++at_;
      const double v = sum();
      good_ = good_ && peek() == ')';
      ++at_;
      return v;
    }
    size_t end = at_;
    while (end < s_.size() && std::isdigit(static_cast<unsigned char>(s_[end]))) ++end;
    if (end == at_) return good_ = false, 0;
    const double v = std::stod(s_.substr(at_, end - at_));
    at_ = end;
    return v;
  }

  std::string s_;
  size_t at_ = 0;
  bool good_ = true;
};

std::optional<double> value_of(const std::string& text) {
  if (std::regex_search(text, std::regex("\\d \\d"))) return {};
  return Descent(std::regex_replace(text, std::regex(" "), "")).read();
}

TEST(Countdown, AreRight) {
  each_generated("countdown", [](const Problem& p) {
    EXPECT_EQ(value_of(p.answer), target_of(p));
    EXPECT_EQ(std::ssize(given(p)), 3 + p.difficulty / 2);
    EXPECT_EQ(
        plugin_environments().find("countdown").verify(p, fmt::format("{} = {}", p.answer, target_of(p))).reward, 1);
    EXPECT_EQ(plugin_environments().find("countdown").verify(p, p.answer + " = 0").reward, 0);
  });
}

TEST(Countdown, RefusesMutations) {
  check_mutations("countdown", [](const Problem& p, const std::string& a) {
    const size_t equals = a.rfind('=');
    const int64_t target = target_of(p);
    if (equals != a.npos && !std::regex_match(a.substr(equals + 1), std::regex(fmt::format(" ?\\+?0*{}", target))))
      return false;
    const std::string text = a.substr(0, equals);
    std::vector<int64_t> used, wanted;
    for (const auto& v : numbers_of(text, "(\\d+)")) used.push_back(v[0]);
    for (const Value& v : given(p)) wanted.push_back(v.above);
    std::sort(used.begin(), used.end()), std::sort(wanted.begin(), wanted.end());
    const std::optional<double> v = value_of(text);
    return used == wanted && v && std::abs(*v - static_cast<double>(target)) < 1e-9;
  });
}

TEST(Countdown, SaysWhatIsWrong) {
  const NamedEnvironment& e = plugin_environments().find("countdown");
  const Problem p = e.generate(1, 3);
  EXPECT_EQ(e.verify(p, "1 / (2 - 2)").reason, "division by zero");
  EXPECT_EQ(e.verify(p, "(1 + 2").reason, "a parenthesis is not closed");
  EXPECT_EQ(e.verify(p, "1 + 2)").reason, "a parenthesis is not open");
  EXPECT_EQ(e.verify(p, "1 +").reason, "the answer is not an expression");
  EXPECT_EQ(e.verify(p, "-1").reason, "the answer is not an expression");
  EXPECT_EQ(e.verify(p, "9999999999999999999").reason, "a number is too long");
  EXPECT_EQ(e.verify(p, fmt::format("{}", target_of(p))).reason, "the numbers used are not the numbers given");
  EXPECT_EQ(e.verify(p, std::string(200000, '(')).reward, 0);  // any depth
  EXPECT_EQ(e.verify(p, std::string(200000, '(') + p.answer + std::string(200000, ')')).reward, 1);
}

TEST(Countdown, HasTheProperties) { check_environment("countdown", {.several_right = true}); }

}  // namespace
}  // namespace quern::gym
