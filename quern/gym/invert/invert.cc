// Environment `invert`: the list that d + 2 steps, each of which can be undone, turn into a given one.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

using Numbers = std::vector<int64_t>;

struct ListStep {
  enum class Op { reverse, move_first, swap_ends, add };
  Op op;
  int64_t number;

  std::string text() const {
    switch (op) {
      case Op::reverse:
        return "reverse the list";
      case Op::move_first:
        return "move the first number to the end";
      case Op::swap_ends:
        return "swap the first and the last number";
      case Op::add:
        return fmt::format("add {} to each number", number);
    }
    return "";
  }
  void run(Numbers& v) const {
    switch (op) {
      case Op::reverse:
        std::ranges::reverse(v);
        break;
      case Op::move_first:
        std::rotate(v.begin(), v.begin() + 1, v.end());
        break;
      case Op::swap_ends:
        std::swap(v.front(), v.back());
        break;
      case Op::add:
        for (int64_t& x : v) x += number;
    }
  }
};

class Invert : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    Numbers start;
    const int64_t n = 3 + std::min<int64_t>(difficulty / 3, 7);
    while (static_cast<int64_t>(start.size()) < n)
      start.push_back(between(r, 0, 20 + 5 * std::min<int64_t>(difficulty, 100)));
    std::vector<ListStep> steps;
    std::vector<Numbers> lists = {start};
    std::string program;
    for (int64_t i = 0; i < difficulty + 2; ++i) {
      steps.push_back({static_cast<ListStep::Op>(r.below(4)), between(r, 1, 9)});
      lists.push_back(lists.back());
      steps.back().run(lists.back());
      program += fmt::format("{}{}) {}", i ? "; " : "", i + 1, steps.back().text());
    }
    Problem p{.key = fmt::format("{} to {}", program, fmt::join(lists.back(), ", "))};
    p.question = fmt::format("A list of numbers went through these steps: {}. The result is {}. What was the list?",
                             program, fmt::join(lists.back(), ", "));
    p.steps = "Undo the steps from the last to the first.";
    for (size_t i = steps.size(); i-- > 0;)
      p.steps += fmt::format(" Before step {}: {}.", i + 1, fmt::join(lists[i], ", "));
    p.answer = fmt::format("{}", fmt::join(start, ", "));
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_numbers(p, reply); }
};

}  // namespace

void register_invert(EnvironmentRegistry& r) {
  r.add("invert", "the list that a program turned into another", std::make_unique<Invert>(), "programs");
}

}  // namespace quern::gym
