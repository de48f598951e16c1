// Environment `linear_systems`: d / 2 + 2 linear equations with one solution, which is of integers. The first two
// unknowns stand in two equations of their own; each further one comes with an equation over it and earlier ones.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

std::string unknown(size_t i) {  // a, …, z, a2, …
  const char letter = static_cast<char>('a' + i % 26);
  return i < 26 ? std::string(1, letter) : fmt::format("{}{}", letter, i / 26 + 1);
}

struct LinearTerm {
  int64_t factor = 0;
  size_t of = 0;
};

struct Equation {
  std::vector<LinearTerm> terms;
  int64_t sum = 0;
};

// "3 * a - b = 4", with values in place of the unknowns where they are given.
std::string text_of(const Equation& e, const std::vector<int64_t>* values = nullptr) {
  std::string s;
  for (const LinearTerm& t : e.terms) {
    const int64_t size = std::abs(t.factor);
    s += s.empty() ? (t.factor < 0 ? "-" : "") : (t.factor < 0 ? " - " : " + ");
    if (size != 1) s += fmt::format("{} * ", size);
    s += values ? fmt::format("({})", (*values)[t.of]) : unknown(t.of);
  }
  return s + fmt::format(" = {}", e.sum);
}

int64_t nonzero(Rng& r, int64_t high) { return between(r, 1, high) * (r.below(2) == 1 ? 1 : -1); }

Equation equation(Rng& r, const std::vector<size_t>& of, const std::vector<int64_t>& values, int64_t high) {
  Equation e;
  for (size_t i : of) {
    e.terms.push_back({nonzero(r, high), i});
    e.sum += e.terms.back().factor * values[i];
  }
  return e;
}

std::string pair_steps(const Equation& e, const Equation& f, const std::vector<int64_t>& values) {
  const int64_t a = e.terms[0].factor, b = e.terms[1].factor, c = f.terms[0].factor, d = f.terms[1].factor;
  const int64_t det = a * d - b * c, above = e.sum * d - f.sum * b, rest = e.sum - a * values[0];
  return fmt::format(
      "{} times the first equation minus {} times the second: {} * a = {}, so a = {}. Then {} * b = {} - ({}) = {}, "
      "so "
      "b = {}.",
      d, b, det, above, values[0], b, e.sum, a * values[0], rest, values[1]);
}

Problem linear_systems(Rng& r, int64_t d) {
  const size_t n = 2 + static_cast<size_t>(d) / 2;
  const int64_t high = d < 2 ? 3 : 5;
  std::vector<int64_t> values;
  for (size_t i = 0; i < n; ++i) values.push_back(between(r, d < 2 ? 0 : -9, 9 + d % 2));
  std::vector<Equation> all = {equation(r, {0, 1}, values, high)};
  do {
    all.resize(1), all.push_back(equation(r, {0, 1}, values, high));
  } while (all[0].terms[0].factor * all[1].terms[1].factor == all[0].terms[1].factor * all[1].terms[0].factor);
  Problem p;
  p.steps = fmt::format("{} and {}. {}", text_of(all[0]), text_of(all[1]), pair_steps(all[0], all[1], values));
  for (size_t i = 2; i < n; ++i) {
    std::vector<size_t> of = {r.below(i), i};
    if (d >= 6 && i >= 3) of = {of[0], (of[0] + 1 + r.below(i - 1)) % i, i};
    all.push_back(equation(r, of, values, high));
    const Equation& e = all.back();
    int64_t known = 0;
    for (size_t k = 0; k + 1 < e.terms.size(); ++k) known += e.terms[k].factor * values[e.terms[k].of];
    p.steps += fmt::format(" {}: {} * {} = {} - ({}) = {}, so {} = {}.", text_of(e), e.terms.back().factor,
                           unknown(i), e.sum, known, e.sum - known, unknown(i), values[i]);
  }
  if (d >= 2) shuffle(r, all);
  std::vector<std::string> equations, found;
  Json::Array hidden;
  for (const Equation& e : all) equations.push_back(text_of(e));
  for (size_t i = 0; i < n; ++i) {
    found.push_back(fmt::format("{} = {}", unknown(i), values[i]));
    hidden.emplace_back(values[i]);
  }
  const std::string system = fmt::format("{}", fmt::join(equations, "; "));
  p.question = fmt::format("Solve for the integers {} {} {}: {}. Write every value in the form a = 100.", unknown(0),
                           n == 2 ? "and" : "to", unknown(n - 1), system);
  p.answer = fmt::format("{}", fmt::join(found, ", "));
  p.key = system;
  p.facts.set("values", Json(std::move(hidden)));
  return p;
}

// The index of "a", "b3"; nothing for what is no name of an unknown.
std::optional<size_t> index_of(std::string_view name) {
  if (name.empty() || name[0] < 'a' || name[0] > 'z') return {};
  const auto letter = static_cast<size_t>(name[0] - 'a');
  if (name.size() == 1) return letter;
  const std::optional<int64_t> round = integer_in(name.substr(1));
  if (name.size() > 6 || !round || *round < 2) return {};
  return letter + 26 * static_cast<size_t>(*round - 1);
}

std::string_view without_blanks(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}

class LinearSystems : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return linear_systems(r, difficulty); }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const Json::Array& values = p.facts.at("values").as_array();
    std::vector<char> seen(values.size());
    const std::string answer = final_answer(reply);
    for (size_t i = 0, end; i <= answer.size(); i = end + 1) {
      end = std::min(answer.find_first_of(",;", i), answer.size());
      const std::string_view item = std::string_view(answer).substr(i, end - i);
      const size_t equals = item.find('=');
      if (equals == item.npos) return {0, "a value is not in the form a = 1"};
      const std::optional<size_t> at = index_of(without_blanks(item.substr(0, equals)));
      const std::optional<int64_t> value = integer_in(without_blanks(item.substr(equals + 1)));
      if (!at || *at >= values.size() || !value) return {0, "a value is not in the form a = 1"};
      if (seen[*at]++) return {0, unknown(*at) + " is there twice"};
      if (*value != values[*at].as_int()) return {0, fmt::format("{} is not {}", unknown(*at), *value)};
    }
    for (size_t i = 0; i < seen.size(); ++i)
      if (!seen[i]) return {0, unknown(i) + " is missing"};
    return {1, "every equation holds"};
  }
};

}  // namespace

void register_linear_systems(EnvironmentRegistry& r) {
  r.add("linear_systems", "linear equations with one solution, of integers", std::make_unique<LinearSystems>(),
        "arithmetic and algebra");
}

}  // namespace quern::gym
