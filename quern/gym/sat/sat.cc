// Environment `sat`: d + 3 variables and 3 d + 8 clauses of three literals, made around a hidden assignment. Every
// assignment that satisfies all of them is accepted.
#include <map>
#include <set>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

using Literals = std::vector<int64_t>;  // 3: x3, -3: not x3

std::string text_of(const Literals& clause) {
  std::string s;
  for (int64_t l : clause) s += fmt::format("{}{}x{}", s.empty() ? "" : " or ", l < 0 ? "not " : "", std::abs(l));
  return s;
}

// Three variables of which one literal at least holds.
Literals clause_around(const std::vector<char>& is_true, Rng& r) {
  while (true) {
    Literals c;
    bool holds = false;
    while (c.size() < 3) {
      const auto v = static_cast<int64_t>(r.below(is_true.size())) + 1;
      if (std::ranges::find(c, v) != c.end() || std::ranges::find(c, -v) != c.end()) continue;
      const bool negated = r.below(2) == 1;
      c.push_back(negated ? -v : v);
      holds = holds || negated != (is_true[static_cast<size_t>(v - 1)] != 0);
    }
    if (holds) return c;
  }
}

class Sat : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    std::vector<char> is_true(static_cast<size_t>(difficulty) + 3);
    std::vector<std::string> yes, clauses;
    for (size_t i = 0; i < is_true.size(); ++i) {
      is_true[i] = r.below(2) == 1;
      if (is_true[i]) yes.push_back(fmt::format("x{}", i + 1));
    }
    Json all = Json::array();
    std::string trace;
    for (int64_t k = 0; k < 3 * difficulty + 8; ++k) {
      const Literals c = clause_around(is_true, r);
      all.push(json_array(c)), clauses.push_back(text_of(c));
      const int64_t holds = *std::ranges::find_if(
          c, [&](int64_t l) { return (l > 0) == (is_true[static_cast<size_t>(std::abs(l)) - 1] != 0); });
      trace += fmt::format(" {}: {}x{}.", k + 1, holds < 0 ? "not " : "", std::abs(holds));
    }
    Problem p{.key = fmt::format("{}", fmt::join(clauses, ", "))};
    p.question = fmt::format(
        "Each of the variables x1 to x{} is true or false. All of these conditions must hold: ({}). Write the names "
        "of the variables that are true, in any order, or none if all are false. If there are several ways, give "
        "one.",
        is_true.size(), fmt::join(clauses, "), ("));
    p.answer = yes.empty() ? "none" : fmt::format("{}", fmt::join(yes, ", "));
    p.steps = fmt::format("Let the true ones be: {}. What makes each condition hold:{}", p.answer, trace);
    p.facts.set("clauses", all), p.facts.set("variables", static_cast<int64_t>(is_true.size()));
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const std::vector<std::string> words = answer_words(final_answer(reply));
    if (words.empty()) return {0, "no answer"};
    std::set<int64_t> yes;
    const int64_t n = p.facts.at("variables").as_int();
    for (const std::string& w : words) {
      if (w == "none" && words.size() == 1) break;
      const auto v = w.starts_with('x') && w.size() > 1 && w[1] != '-' && w[1] != '0' ? answer_number(w.substr(1))
                                                                                      : std::nullopt;
      if (!v || *v > n) return {0, fmt::format("there is no variable '{:.20}'", w)};
      if (!yes.insert(*v).second) return {0, fmt::format("{} is named twice", w)};
    }
    int64_t place = 0;
    for (const Json& clause : p.facts.at("clauses").as_array()) {
      ++place;
      const auto literals = json_numbers(clause);
      if (std::ranges::none_of(literals, [&](int64_t l) { return (l > 0) == yes.contains(std::abs(l)); }))
        return {0, fmt::format("condition {} does not hold: {}", place, text_of(literals))};
    }
    return {1, "all conditions hold"};
  }
};

}  // namespace

void register_sat(EnvironmentRegistry& r) {
  r.add("sat", "an assignment that satisfies clauses of three literals", std::make_unique<Sat>(),
        "logic and constraints");
}

}  // namespace quern::gym
