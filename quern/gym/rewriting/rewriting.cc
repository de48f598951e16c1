// Environment `rewriting`: a string of d + 4 letters rewritten by rules in a stated order until none applies. Every rule
// shortens the string, so it ends.
#include "quern/base/error.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr std::string_view kLetters = "abc";
constexpr size_t kLongestShown = 60;  // letters of a string in the worked solution

struct RewritingRule {
  std::string left, right;
};

char letter(Rng& r) { return kLetters[r.below(kLetters.size())]; }

std::vector<RewritingRule> rules(Rng& r, size_t n) {
  std::vector<RewritingRule> out;
  while (out.size() < n) {
    const std::string left = {letter(r), letter(r)};
    if (std::ranges::find(out, left, &RewritingRule::left) != out.end()) continue;
    out.push_back({left, std::string(1, letter(r))});
  }
  return out;
}

// The first rule that applies, at its leftmost place; false: none.
bool rewrite(std::string& s, const std::vector<RewritingRule>& all, std::string& steps) {
  for (const RewritingRule& rule : all) {
    const size_t at = s.find(rule.left);
    if (at == s.npos) continue;
    s.replace(at, rule.left.size(), rule.right);
    steps += fmt::format(" {} -> {} at place {}", rule.left, rule.right, at + 1);
    steps += s.size() <= kLongestShown ? fmt::format(": {}.", s) : ".";
    return true;
  }
  return false;
}

class Rewriting : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const std::vector<RewritingRule> all = rules(r, static_cast<size_t>(std::min<int64_t>(2 + difficulty / 2, 6)));
    std::string s = all[r.below(all.size())].left, list;
    while (s.size() < static_cast<size_t>(difficulty) + 4) s += letter(r);
    for (const RewritingRule& rule : all)
      list += fmt::format("{}{} -> {}", list.empty() ? "" : ", ", rule.left, rule.right);
    Problem p{.key = fmt::format("{} by {}", s, list)};
    p.question = fmt::format(
        "Rewrite the string {} by these rules: {}. In each step take the first rule of the list whose left side "
        "occurs in the string, and replace the leftmost occurrence. Stop when no rule applies. What is the string "
        "then?",
        s, list);
    p.steps = "Start: " + s + ".";
    while (rewrite(s, all, p.steps)) {
    }
    p.steps += " No rule applies.";
    p.answer = s;
    return p;
  }
};

}  // namespace

void register_rewriting(EnvironmentRegistry& r) {
  r.add("rewriting", "a string rewritten by rules until none applies", std::make_unique<Rewriting>(),
        "strings and languages");
}

}  // namespace quern::gym
