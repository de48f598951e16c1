// Environment `countdown`: a number to be made of d / 2 + 3 given numbers, each used once. Every expression that
// makes it is right. Expressions are evaluated modulo two primes near 2^61, where a division by zero or an equality
// that does not hold for rational numbers has a chance below 2^-100 and no number is too large.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

// Left to right: (…((a + b) * c) - …), with the parentheses that are needed.
Problem countdown(Rng& r, int64_t d) {
  const int64_t high = 9 + std::min<int64_t>(d, 40), top = 60 + 40 * std::min<int64_t>(d, 100);
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < d / 2 + 3; ++i) numbers.push_back(between(r, 1, high));
  int64_t value = numbers[0];
  size_t open = 0;
  std::string body = std::to_string(value), steps;
  bool sum = false;  // whether the last operation was + or -
  for (size_t i = 1; i < numbers.size(); ++i) {
    const int64_t x = numbers[i];
    std::string ops;
    if (value + x <= top) ops += '+';
    if (value > x) ops += '-';
    if (value * x <= top && x > 1) ops += "**";
    if (value % x == 0 && x > 1) ops += "//";
    const char op = ops.empty() ? '-' : ops[r.below(ops.size())];
    const bool more = op == '*' || op == '/';
    if (more && sum) ++open, body += ')';
    sum = !more;
    const int64_t next = op == '+' ? value + x : op == '-' ? value - x : op == '*' ? value * x : value / x;
    body += fmt::format(" {} {}", op, x);
    steps += fmt::format("{}{} {} {} = {}.", i == 1 ? "" : " ", value, op, x, next);
    value = next;
  }
  shuffle(r, numbers);
  Problem p{.steps = std::move(steps), .answer = std::string(open, '(') + body};
  p.question = fmt::format(
      "Make {} from the numbers {}. Use each of them exactly once, with +, -, *, / and parentheses. Write one "
      "expression.",
      value, fmt::join(numbers, ", "));
  std::sort(numbers.begin(), numbers.end());
  p.key = fmt::format("{} from {}", value, fmt::join(numbers, " "));
  Json::Array hidden(numbers.begin(), numbers.end());
  p.facts.set("numbers", Json(std::move(hidden))), p.facts.set("target", value);
  return p;
}

constexpr std::array<uint64_t, 2> kModuli = {(uint64_t{1} << 61) - 1, (uint64_t{1} << 61) - 31};
using Residues = std::array<uint64_t, 2>;

Residues residues(int64_t v) {
  Residues out{};
  for (size_t k = 0; k < 2; ++k) {
    const auto m = static_cast<int64_t>(kModuli[k]);
    out[k] = static_cast<uint64_t>((v % m + m) % m);
  }
  return out;
}

uint64_t times(uint64_t a, uint64_t b, uint64_t m) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % m);
}

uint64_t inverse(uint64_t a, uint64_t m) {
  uint64_t out = 1;
  for (uint64_t e = m - 2; e > 0; e >>= 1, a = times(a, a, m))
    if (e & 1) out = times(out, a, m);
  return out;
}

// The value of an expression and the numbers it uses, read with two stacks: any depth of parentheses.
class ExpressionReader {
 public:
  explicit ExpressionReader(std::string_view text) : text_(text) {}

  // What is wrong with the text; empty if it is an expression.
  std::string read() {
    bool value_next = true;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == ' ') continue;
      if (value_next && c == '(') {
        operators_.push_back(c);
      } else if (value_next && c >= '0' && c <= '9') {
        if (!number()) return "a number is too long";
        value_next = false;
      } else if (!value_next && c == ')') {
        if (!reduce(0)) return "division by zero";
        if (operators_.empty()) return "a parenthesis is not open";
        operators_.pop_back();
      } else if (!value_next && std::string_view("+-*/").find(c) != std::string_view::npos) {
        if (!reduce(rank(c))) return "division by zero";
        operators_.push_back(c);
        value_next = true;
      } else {
        return "the answer is not an expression";
      }
    }
    if (value_next) return "the answer is not an expression";
    if (!reduce(0)) return "division by zero";
    return operators_.empty() ? "" : "a parenthesis is not closed";
  }

  const Residues& value() const { return values_.back(); }
  const std::vector<int64_t>& numbers() const { return numbers_; }

 private:
  static int rank(char op) { return op == '(' ? -1 : op == '+' || op == '-' ? 1 : 2; }

  bool number() {
    const size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
    const std::optional<int64_t> v = integer_in(text_.substr(at_, end - at_));
    if (!v) return false;
    numbers_.push_back(*v), values_.push_back(residues(*v));
    at_ = end - 1;
    return true;
  }

  // Carries out the operations on top that bind as much as `least`; false: a division by zero.
  bool reduce(int least) {
    for (; !operators_.empty() && rank(operators_.back()) >= std::max(least, 1); operators_.pop_back()) {
      const Residues b = values_.back();
      values_.pop_back();
      Residues& a = values_.back();
      for (size_t k = 0; k < 2; ++k) {
        const uint64_t m = kModuli[k];
        switch (operators_.back()) {
          case '+':
            a[k] = (a[k] + b[k]) % m;
            break;
          case '-':
            a[k] = (a[k] + m - b[k]) % m;
            break;
          case '*':
            a[k] = times(a[k], b[k], m);
            break;
          default:
            if (b[k] == 0) return false;
            a[k] = times(a[k], inverse(b[k], m), m);
        }
      }
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<char> operators_;
  std::vector<Residues> values_;
  std::vector<int64_t> numbers_;
};

class Countdown : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return countdown(r, difficulty); }

  // "… = 24" behind the expression is taken for what it says.
  Verdict verify(const Problem& p, std::string_view reply) const override {
    const std::string answer = final_answer(reply);
    const int64_t target = p.facts.at("target").as_int();
    std::string_view text = answer;
    if (const size_t equals = text.rfind('='); equals != text.npos) {
      std::string_view right = text.substr(equals + 1);
      while (right.starts_with(' ')) right.remove_prefix(1);
      if (integer_in(right) != target) return {0, fmt::format("what follows = is not {}", target)};
      text = text.substr(0, equals);
    }
    ExpressionReader e(text);
    if (std::string wrong = e.read(); !wrong.empty()) return {0, wrong};
    std::vector<int64_t> used = e.numbers();
    std::sort(used.begin(), used.end());
    const Json::Array& given = p.facts.at("numbers").as_array();
    const auto same = [](int64_t a, const Json& b) { return a == b.as_int(); };
    if (!std::equal(used.begin(), used.end(), given.begin(), given.end(), same))
      return {0, "the numbers used are not the numbers given"};
    if (e.value() != residues(target)) return {0, fmt::format("the expression does not make {}", target)};
    return {1, fmt::format("the expression makes {}", target)};
  }
};

}  // namespace

void register_countdown(EnvironmentRegistry& r) {
  r.add("countdown", "a number to be made of given numbers with + - * / and parentheses",
        std::make_unique<Countdown>(), "arithmetic and algebra");
}

}  // namespace quern::gym
