// Environment `brackets`: the shortest end of a bracket word of 2 d + 5 characters.
#include "quern/base/error.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr std::string_view kOpen = "([{", kClose = ")]}";

class Brackets : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const size_t n = static_cast<size_t>(2 * difficulty + 5);  // odd: something is left open
    std::string word, open;
    while (word.size() < n) {
      if (open.size() > 1 && r.below(2) == 1) {
        word += kClose[kOpen.find(open.back())], open.pop_back();
      } else {
        open += kOpen[r.below(kOpen.size())], word += open.back();
      }
    }
    Problem p{.key = word};
    p.question = fmt::format(
        "Complete this word of brackets so that every bracket is closed in the right order. Write only the brackets "
        "to add at its end, as few as possible: {}",
        word);
    for (size_t i = open.size(); i-- > 0;) p.answer += kClose[kOpen.find(open[i])];
    p.steps = fmt::format("Still open: {}. From the last to the first, they are closed by {}.", open, p.answer);
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    std::string given = final_answer(reply);
    std::erase(given, ' ');
    if (given.empty()) return {0, "no answer"};
    if (given.find_first_not_of(kClose) != given.npos) return {0, "there is more than closing brackets"};
    if (given == p.answer) return {1, "every bracket is closed"};
    if (given.size() != p.answer.size())
      return {0, fmt::format("{} brackets are to be closed, not {}", p.answer.size(), given.size())};
    return {0, fmt::format("expected '{}'", p.answer)};
  }
};

}  // namespace

void register_brackets(EnvironmentRegistry& r) {
  r.add("brackets", "the closing brackets that complete a word of brackets", std::make_unique<Brackets>(),
        "strings and languages");
}

}  // namespace quern::gym
