// Environment `grammar_parse`: a leftmost derivation of a string by the numbered rules of a context-free grammar; any
// right one is accepted.
#include <array>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr size_t kLongestShown = 60;  // steps of a derivation whose strings are shown

// "SaSb": S may become aSb. Upper case: to be replaced further.
bool replaceable(char c) { return c >= 'A' && c <= 'Z'; }

std::string letters(Rng& r, int64_t n) {
  std::string s;
  for (; n > 0; --n) s += static_cast<char>('a' + r.below(3));
  return s;
}

// For each of the first n of S, A, B: one rule that continues, one or two that end.
std::vector<std::string> grammar(Rng& r, size_t n) {
  constexpr std::string_view kNames = "SAB";
  std::vector<std::string> rules;
  const auto add = [&](std::string rule) {
    if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(std::move(rule));
  };
  for (size_t k = 0; k < n; ++k) {
    const std::string left(1, kNames[k]), next(1, kNames[(k + 1) % n]);
    add(left + letters(r, 1) + next + letters(r, between(r, 0, 1)));
    if (r.below(2) == 1) add(left + letters(r, between(r, 0, 1)) + left + kNames[r.below(n)] + letters(r, 1));
    add(left + letters(r, between(r, 1, 2)));
    if (r.below(2) == 1) add(left + letters(r, between(r, 1, 2)));
  }
  return rules;
}

// The numbers of the rules of a random leftmost derivation of at least `steps` steps, and the string it ends in.
std::vector<int64_t> derivation(const std::vector<std::string>& rules, int64_t steps, Rng& r, std::string& made) {
  std::vector<int64_t> used;
  int64_t open = 1;                               // how many are to be replaced yet
  for (std::string left = "S"; !left.empty();) {  // the next character last
    const char c = left.back();
    left.pop_back();
    if (!replaceable(c)) {
      made += c;
      continue;
    }
    const bool may_end = static_cast<int64_t>(used.size()) + open >= steps || (open > 1 && r.below(3) == 0);
    size_t rule = 0;
    do rule = r.below(rules.size());
    while (rules[rule][0] != c || may_end != std::none_of(rules[rule].begin() + 1, rules[rule].end(), replaceable));
    used.push_back(static_cast<int64_t>(rule) + 1);
    --open;
    for (size_t i = rules[rule].size(); i-- > 1;) left += rules[rule][i], open += replaceable(rules[rule][i]) ? 1 : 0;
  }
  return used;
}

std::string worked(const std::vector<std::string>& rules, const std::vector<int64_t>& used) {
  const bool shown = used.size() <= kLongestShown;
  std::string s = "S", steps = shown ? "S" : "From left to right:";
  for (int64_t n : used) {
    const std::string& rule = rules[static_cast<size_t>(n - 1)];
    if (shown) s.replace(static_cast<size_t>(std::ranges::find_if(s, replaceable) - s.begin()), 1, rule.substr(1));
    steps += shown ? fmt::format(" -> {} (rule {})", s, n)
                   : fmt::format(" {} -> {} (rule {})", rule[0], rule.substr(1), n);
  }
  return steps + ".";
}

class GrammarParse : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const std::vector<std::string> rules = grammar(r, static_cast<size_t>(std::min<int64_t>(1 + difficulty / 2, 3)));
    std::string made, list;
    const std::vector<int64_t> used = derivation(rules, difficulty + 2 + between(r, 0, 1), r, made);
    Json all = Json::array();
    for (const std::string& rule : rules) {
      all.push(rule);
      list += fmt::format("{}rule {}: {} -> {}", list.empty() ? "" : ", ", all.as_array().size(), rule[0],
                          rule.substr(1));
    }
    Problem p{.key = fmt::format("{} of {}", made, list)};
    p.question = fmt::format(
        "A grammar has these rules: {}. Start with S and make the string {}. In each step, use a rule to replace "
        "the leftmost capital letter. Write the numbers of the rules used, in order.",
        list, made);
    p.steps = worked(rules, used);
    p.answer = fmt::format("{}", fmt::join(used, ", "));
    p.facts.set("rules", all), p.facts.set("string", made);
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const auto used = answer_numbers(final_answer(reply));
    if (!used) return {0, "the answer is not a list of rule numbers"};
    const Json::Array& rules = p.facts.at("rules").as_array();
    const std::string& wanted = p.facts.at("string").as_string();
    std::string left = "S";  // the next character last
    size_t made = 0;
    const auto read_letters = [&] {
      for (; !left.empty() && !replaceable(left.back()); left.pop_back(), ++made)
        if (made >= wanted.size() || wanted[made] != left.back()) return false;
      return true;
    };
    for (int64_t n : *used) {
      if (n < 1 || n > static_cast<int64_t>(rules.size())) return {0, fmt::format("there is no rule {}", n)};
      if (left.empty()) return {0, "there are rules after the end of the derivation"};
      const std::string& rule = rules[static_cast<size_t>(n - 1)].as_string();
      if (rule[0] != left.back()) return {0, fmt::format("rule {} cannot replace {}", n, left.back())};
      left.pop_back();
      left.append(rule.rbegin(), rule.rend() - 1);
      if (!read_letters()) return {0, "the rules make another string"};
    }
    if (!left.empty()) return {0, fmt::format("{} is not replaced", left.back())};
    if (made != wanted.size()) return {0, "the rules make a shorter string"};
    return {1, "the rules make the string"};
  }
};

}  // namespace

void register_grammar_parse(EnvironmentRegistry& r) {
  r.add("grammar_parse", "a derivation of a string by the rules of a context-free grammar",
        std::make_unique<GrammarParse>(), "strings and languages");
}

}  // namespace quern::gym
