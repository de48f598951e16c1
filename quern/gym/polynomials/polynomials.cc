// Environment `polynomials`: d / 2 + 1 products of two polynomials, expanded and added up. Powers may come in any
// order.
#include <map>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

using Polynomial = std::map<int64_t, int64_t>;  // power → coefficient, without zeros

void add(Polynomial& p, int64_t power, int64_t by) {
  if ((p[power] += by) == 0) p.erase(power);
}

std::string text_of(const Polynomial& p) {  // "2x^2 - 3x + 1"
  std::string s;
  for (auto i = p.rbegin(); i != p.rend(); ++i) {
    const auto [power, c] = *i;
    s += s.empty() ? (c < 0 ? "-" : "") : (c < 0 ? " - " : " + ");
    if (std::abs(c) != 1 || power == 0) s += std::to_string(std::abs(c));
    if (power > 0) s += power == 1 ? "x" : fmt::format("x^{}", power);
  }
  return s.empty() ? "0" : s;
}

Polynomial factor(Rng& r, int64_t degree, int64_t d) {
  const int64_t high = std::min<int64_t>(5 + d, 20);
  Polynomial p;
  for (int64_t k = 0; k < degree; ++k) add(p, k, between(r, -high, high));
  if (p.empty()) add(p, 0, between(r, 1, high));  // never x * x: a factor has two terms
  add(p, degree, between(r, 1, d < 2 ? 2 : 5));
  return p;
}

Polynomial product(const Polynomial& a, const Polynomial& b) {
  Polynomial p;
  for (const auto& [i, x] : a)
    for (const auto& [k, y] : b) add(p, i + k, x * y);
  return p;
}

Problem polynomials(Rng& r, int64_t d) {
  Problem p;
  Polynomial sum;
  std::string asked;
  for (int64_t i = 0; i <= d / 2; ++i) {
    const bool minus = i > 0 && r.below(2) == 1;
    const Polynomial a = factor(r, d >= 3 ? between(r, 1, 2) : 1, d), b = factor(r, 1, d), ab = product(a, b);
    const std::string text = fmt::format("({})({})", text_of(a), text_of(b));
    asked += i == 0 ? text : fmt::format(" {} {}", minus ? '-' : '+', text);
    p.steps += fmt::format("{} = {}. ", text, text_of(ab));
    for (const auto& [power, c] : ab) add(sum, power, minus ? -c : c);
    if (i > 0) p.steps += fmt::format("So far: {}. ", text_of(sum));
  }
  p.steps.pop_back();
  p.question = fmt::format(
      "Expand {}. Write one term for each power of x, for example in the form 70x^5 - 80x^4 + 90.", asked);
  p.answer = text_of(sum);
  p.key = asked;
  return p;
}

std::optional<int64_t> take_number(std::string_view& s) {
  const size_t end = std::min(s.find_first_not_of("0123456789"), s.size());
  const std::optional<int64_t> v = integer_in(s.substr(0, end));
  s.remove_prefix(end);
  return v;
}

void skip_blanks(std::string_view& s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
}

// One term, "3x^2", "3 * x", "x", "7", without its sign.
std::optional<std::pair<int64_t, int64_t>> take_term(std::string_view& s) {
  int64_t c = 1, power = 0;
  const bool number = !s.empty() && s[0] >= '0' && s[0] <= '9';
  if (number) {
    const std::optional<int64_t> v = take_number(s);
    if (!v) return {};
    c = *v;
    skip_blanks(s);
    if (s.starts_with('*')) {
      s.remove_prefix(1);
      skip_blanks(s);
      if (!s.starts_with('x')) return {};
    }
  }
  if (s.starts_with('x')) {
    s.remove_prefix(1);
    power = 1;
    skip_blanks(s);
    if (s.starts_with('^')) {
      s.remove_prefix(1);
      skip_blanks(s);
      const std::optional<int64_t> v = take_number(s);
      if (!v) return {};
      power = *v;
    }
  } else if (!number) {
    return {};
  }
  return std::pair{power, c};
}

struct Reading {
  Polynomial sum = {};
  std::string wrong = {};  // what is wrong with the form; empty: nothing
};

Reading read(std::string_view s) {
  Reading out;
  Polynomial seen;
  for (bool first = true; first || !s.empty(); first = false) {
    skip_blanks(s);
    int64_t sign = 1;
    if (s.starts_with('-') || s.starts_with('+')) {
      sign = s[0] == '-' ? -1 : 1;
      s.remove_prefix(1);
      skip_blanks(s);
    } else if (!first) {
      return {{}, "there is neither + nor - between two terms"};
    }
    const auto term = take_term(s);
    if (!term) return {{}, "a term is not a number and a power of x"};
    skip_blanks(s);
    if (seen[term->first]++ > 0) return {{}, fmt::format("x^{} is there twice", term->first)};
    add(out.sum, term->first, sign * term->second);
  }
  return out;
}

class Polynomials : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return polynomials(r, difficulty); }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const Reading got = read(final_answer(reply)), wanted = read(p.answer);
    if (!got.wrong.empty()) return {0, got.wrong};
    if (got.sum == wanted.sum) return {1, "the same polynomial"};
    return {0, fmt::format("expected '{}'", p.answer)};
  }
};

}  // namespace

void register_polynomials(EnvironmentRegistry& r) {
  r.add("polynomials", "products of polynomials, expanded and added up", std::make_unique<Polynomials>(),
        "arithmetic and algebra");
}

}  // namespace quern::gym
