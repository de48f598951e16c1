// Environment `logic`: an order of d + 3 people from comparisons of two.
#include "quern/base/error.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

std::string joined(const std::vector<std::string>& v) { return fmt::format("{}", fmt::join(v, ", ")); }

std::string ordinal(size_t i) {
  static constexpr const char* kNames[] = {"first", "second", "third", "fourth", "fifth", "sixth", "seventh"};
  return i < std::size(kNames) ? kNames[i] : fmt::format("number {}", i + 1);
}

// Beyond the names there are, people share them: Ana, …, Ana 2.
std::vector<std::string> people(Rng& r, size_t n) {
  if (n <= kPeople.size()) return several(r, kPeople, n);
  std::vector<std::string> all;
  for (size_t i = 0; i < n; ++i)
    all.push_back(i < kPeople.size() ? std::string(kPeople[i])
                                     : fmt::format("{} {}", kPeople[i % kPeople.size()], i / kPeople.size() + 1));
  shuffle(r, all);
  return all;
}

struct Comparison {
  const char *more, *less, *most, *least;
};
constexpr Comparison kComparisons[] = {{"taller", "shorter", "tallest", "shortest"},
                                       {"older", "younger", "oldest", "youngest"},
                                       {"faster", "slower", "fastest", "slowest"},
                                       {"stronger", "weaker", "strongest", "weakest"}};

Problem logic(Rng& r, int64_t d) {
  const size_t n = static_cast<size_t>(d) + 3;
  const std::vector<std::string> order = people(r, n);  // the most first
  const Comparison& c = kComparisons[r.below(std::size(kComparisons))];
  std::vector<std::string> said;
  for (size_t i = 0; i + 1 < n; ++i)
    said.push_back(d >= 1 && r.below(2) == 1 ? fmt::format("{} is {} than {}.", order[i + 1], c.less, order[i])
                                             : fmt::format("{} is {} than {}.", order[i], c.more, order[i + 1]));
  if (d >= 1) shuffle(r, said);
  Problem p{.key = fmt::format("{} {}", c.more, joined(order))};
  p.question = fmt::format("{} ", fmt::join(said, " "));
  p.steps = fmt::format("From the {} down: {}.", c.most, joined(order));
  if (d >= 3 && r.below(2) == 1) {
    const size_t at = 1 + r.below(n - 2);
    p.question += fmt::format("From the {} down, who is {}?", c.most, ordinal(at));
    p.answer = order[at];
  } else {
    const bool most = r.below(2) == 1;
    p.question += fmt::format("Who is the {}?", most ? c.most : c.least);
    p.answer = most ? order.front() : order.back();
  }
  return p;
}

class Logic : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return logic(r, difficulty); }
};

}  // namespace

void register_logic(EnvironmentRegistry& r) {
  r.add("logic", "the order of people from comparisons of two at a time", std::make_unique<Logic>(),
        "logic and constraints");
}

}  // namespace quern::gym
