// Environment `regex_match`: which of some strings match a regular expression of d / 2 + 2 parts, each a letter, a class
// or a choice, perhaps repeated.
#include <set>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr int64_t kHardest = 40;

struct RegexPart {
  std::vector<std::string> choices;
  std::string text;
  char repeat = ' ';  // '*', '+', '?', or once
};

std::string letter(Rng& r) { return std::string(1, static_cast<char>('a' + r.below(4))); }

RegexPart regex_part(Rng& r) {
  RegexPart part;
  const std::string a = letter(r);
  std::string b = letter(r);
  while (b == a) b = letter(r);
  switch (r.below(3)) {
    case 0:
      part = {.choices = {a}, .text = a};
      break;
    case 1:
      part = {.choices = {a, b}, .text = "[" + a + b + "]"};
      break;
    default: {
      const std::string two = a + letter(r);
      part = {.choices = {two, b}, .text = "(" + two + "|" + b + ")"};
    }
  }
  part.repeat = "*+? "[r.below(4)];
  if (part.repeat != ' ') part.text += part.repeat;
  return part;
}

// The ends that a part's choices, once more, reach from the given starts.
std::vector<char> once_more(const RegexPart& part, std::string_view s, const std::vector<char>& starts) {
  std::vector<char> ends(s.size() + 1, 0);
  for (size_t i = 0; i <= s.size(); ++i)
    for (const std::string& c : part.choices)
      if (starts[i] && s.substr(i).starts_with(c)) ends[i + c.size()] = 1;
  return ends;
}

bool matches(const std::vector<RegexPart>& parts, std::string_view s) {
  std::vector<char> at(s.size() + 1, 0);
  at[0] = 1;
  for (const RegexPart& part : parts) {
    std::vector<char> next = at, reached = at;
    if (part.repeat == ' ' || part.repeat == '+') std::ranges::fill(next, 0);
    const size_t times = part.repeat == '*' || part.repeat == '+' ? s.size() : 1;
    for (size_t k = 0; k < times && std::ranges::find(reached, 1) != reached.end(); ++k) {
      reached = once_more(part, s, reached);
      for (size_t i = 0; i < next.size(); ++i) next[i] |= reached[i];
    }
    at = next;
  }
  return at.back() != 0;
}

std::string sample(const std::vector<RegexPart>& parts, Rng& r) {
  std::string s;
  for (const RegexPart& part : parts) {
    const int64_t low = part.repeat == '*' || part.repeat == '?' ? 0 : 1;
    const int64_t high = part.repeat == '*' || part.repeat == '+' ? 3 : 1;
    for (int64_t k = between(r, low, high); k > 0; --k) s += pick(r, part.choices);
  }
  return s;
}

class RegexMatch : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const int64_t d = std::min(difficulty, kHardest);
    std::vector<RegexPart> parts;
    std::string pattern;
    for (int64_t i = 0; i < 2 + d / 2; ++i) parts.push_back(regex_part(r)), pattern += parts.back().text;
    std::vector<std::string> strings, found;
    std::set<std::string> seen;
    int64_t tries = 0;  // the more, the more edits: a short expression matches few strings
    while (strings.size() < static_cast<size_t>(4 + d / 4)) {
      std::string s = sample(parts, r);
      for (int64_t edits = between(r, 0, 2) + (strings.empty() ? 0 : ++tries / 8); edits > 0; --edits) {
        if (s.size() > 1 && r.below(2) == 1)
          s.erase(r.below(s.size()), 1);
        else
          s.insert(r.below(s.size() + 1), letter(r));
      }
      if (!s.empty() && seen.insert(s).second) strings.push_back(s);
    }
    Problem p{.key = fmt::format("{} {}", pattern, fmt::join(strings, " "))};
    p.question = fmt::format(
        "Which of these strings does the regular expression {} match from beginning to end? List them in any order, "
        "or write none: {}",
        pattern, fmt::join(strings, ", "));
    for (const std::string& s : strings) {
      const bool match = matches(parts, s);
      p.steps += fmt::format("{}{}: {}.", p.steps.empty() ? "" : " ", s, match ? "yes" : "no");
      if (match) found.push_back(s);
    }
    p.answer = found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_set(p, reply); }
  std::optional<int64_t> saturates_at() const override { return kHardest; }
};

}  // namespace

void register_regex_match(EnvironmentRegistry& r) {
  r.add("regex_match", "the strings that a regular expression matches", std::make_unique<RegexMatch>(),
        "strings and languages");
}

}  // namespace quern::gym
