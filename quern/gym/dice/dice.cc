// Environment `dice`: the probability that the sum of d / 2 + 1 dice is a number, or at least a number. Every form of
// the exact value is right. Saturates at difficulty 12.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr int64_t kHardest = 12;
constexpr std::array<int64_t, 4> kSides = {6, 4, 8, 12};

Problem dice(Rng& r, int64_t d) {
  const int64_t n = d / 2 + 1, sides = kSides[r.below(kSides.size())];
  std::vector<int64_t> ways = {1};  // of each sum
  Problem p;
  for (int64_t i = 1; i <= n; ++i) {
    std::vector<int64_t> next(ways.size() + static_cast<size_t>(sides));
    for (size_t s = 0; s < ways.size(); ++s)
      for (size_t k = 1; k <= static_cast<size_t>(sides); ++k) next[s + k] += ways[s];
    ways = std::move(next);
    if (i == 1 && n > 1) continue;
    p.steps += fmt::format("Ways with {} {}:", i, i == 1 ? "die" : "dice");
    for (size_t s = static_cast<size_t>(i); s < ways.size(); ++s) p.steps += fmt::format(" {}: {}", s, ways[s]);
    p.steps += ". ";
  }
  const bool least = r.below(2) == 1;
  const int64_t sum = between(r, n + 1, n * sides);
  int64_t good = 0, all = 1;
  for (int64_t i = 0; i < n; ++i) all *= sides;
  for (int64_t s = sum; s <= (least ? n * sides : sum); ++s) good += ways[static_cast<size_t>(s)];
  const Ratio chance = ratio_of(good, all);
  p.steps += fmt::format("Good: {} of {}, {}/{} = {}.", good, all, good, all, ratio_text(chance));
  const std::string thrown = n == 1 ? "One fair die" : fmt::format("{} fair dice", n);
  p.question = fmt::format(
      "{} with {} sides, numbered 1 to {}, {} thrown. What is the probability that the {} is {}{}? Write a fraction "
      "in "
      "lowest terms.",
      thrown, sides, sides, n == 1 ? "is" : "are", n == 1 ? "number" : "sum", least ? "at least " : "exactly ", sum);
  p.answer = ratio_text(chance);
  p.key = fmt::format("{} {} {}{}", n, sides, least ? "at least " : "", sum);
  return p;
}

class Dice : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return dice(r, std::min(difficulty, kHardest)); }
  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_ratio(p, reply); }
  std::optional<int64_t> saturates_at() const override { return kHardest; }
};

}  // namespace

void register_dice(EnvironmentRegistry& r) {
  r.add("dice", "the probability of sums of dice, as a fraction", std::make_unique<Dice>(),
        "counting and probability");
}

}  // namespace quern::gym
