// Environment `anagrams`: which of d + 4 words have the letters of a given one.
#include <set>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

std::string sorted_letters(std::string s) {
  std::ranges::sort(s);
  return s;
}

class Anagrams : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const auto length = static_cast<size_t>(4 + std::min<int64_t>(difficulty / 3, 12));
    std::vector<char> letters;  // a word of all different letters has the most anagrams
    for (char c = 'a'; c <= 'z'; ++c) letters.push_back(c);
    shuffle(r, letters);
    const std::string word(letters.begin(), letters.begin() + static_cast<std::ptrdiff_t>(length));
    std::vector<std::string> list, found;
    std::set<std::string> seen = {word};
    while (list.size() < static_cast<size_t>(difficulty) + 4) {
      std::vector<char> c(word.begin(), word.end());
      const bool is_anagram = list.empty() || r.below(5) < 2;
      if (!is_anagram) c[r.below(length)] = letters[r.below(26)];
      shuffle(r, c);
      if (std::string s(c.begin(), c.end()); seen.insert(s).second) list.push_back(s);
    }
    shuffle(r, list);
    Problem p{.key = fmt::format("{}: {}", word, fmt::join(list, " "))};
    p.question = fmt::format(
        "Which of these words have exactly the letters of {} in another order? List them in any order: {}", word,
        fmt::join(list, ", "));
    p.steps = fmt::format("The letters of {} sorted: {}.", word, sorted_letters(word));
    for (const std::string& s : list) {
      const bool same = sorted_letters(s) == sorted_letters(word);
      p.steps += fmt::format(" {}: {}, {}.", s, sorted_letters(s), same ? "yes" : "no");
      if (same) found.push_back(s);
    }
    p.answer = fmt::format("{}", fmt::join(found, ", "));
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_set(p, reply); }
};

}  // namespace

void register_anagrams(EnvironmentRegistry& r) {
  r.add("anagrams", "the words that have the letters of another", std::make_unique<Anagrams>(),
        "strings and languages");
}

}  // namespace quern::gym
