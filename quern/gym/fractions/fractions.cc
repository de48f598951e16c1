// Environment `fractions`: sums and differences of d + 2 fractions, from difficulty 3 on with products among them.
// Every form of the value is right: 3/4, 6/8, 0.75.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr std::array<int64_t, 9> kBelow = {2, 3, 4, 6, 5, 8, 10, 9, 12};

struct Term {
  std::string text;
  Ratio value;
};

Term fraction(Rng& r, int64_t d) {
  const int64_t below = kBelow[r.below(d < 2 ? 4 : kBelow.size())],
                above = between(r, 1, below - 1 + std::min<int64_t>(d, 4));
  return {fmt::format("{}/{}", above, below), ratio_of(above, below)};
}

Problem fractions(Rng& r, int64_t d) {
  Problem p;
  Ratio sum;
  std::string asked;
  for (int64_t i = 0; i < d + 2; ++i) {
    Term t = fraction(r, d);
    if (d >= 3 && r.below(3) == 0) {
      const Term other = fraction(r, d);
      const Ratio product = t.value * other.value;
      t = {t.text + " * " + other.text, product};
      p.steps += fmt::format("{} = {}. ", t.text, ratio_text(product));
    }
    const bool minus = i > 0 && r.below(2) == 1;
    asked += i == 0 ? t.text : fmt::format(" {} {}", minus ? '-' : '+', t.text);
    const Ratio next = minus ? sum - t.value : sum + t.value;
    if (i > 0)
      p.steps +=
          fmt::format("{} {} {} = {}. ", ratio_text(sum), minus ? '-' : '+', ratio_text(t.value), ratio_text(next));
    sum = next;
  }
  p.steps.pop_back();
  p.question = fmt::format("What is {}? Write a whole number or a fraction in lowest terms.", asked);
  p.answer = ratio_text(sum);
  p.key = asked;
  return p;
}

class Fractions : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return fractions(r, difficulty); }
  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_ratio(p, reply); }
};

}  // namespace

void register_fractions(EnvironmentRegistry& r) {
  r.add("fractions", "sums, differences and products of fractions, exactly", std::make_unique<Fractions>(),
        "arithmetic and algebra");
}

}  // namespace quern::gym
