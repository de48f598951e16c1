// Environment `units`: conversion of units, prices, speed and recipes; from difficulty 5 on the price of d - 2 purchases.
#include "quern/base/error.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

Problem recipe(Rng& r) {
  const int64_t people = between(r, 2, 6), each = 5 * between(r, 5, 60), more = between(r, 7, 15);
  return {.question = fmt::format("A recipe for {} people takes {} g of flour. How many grams does it take for {} "
                                  "people?",
                                  people, people * each, more),
          .steps = fmt::format("For one: {} / {} = {} g. For {}: {} * {} = {} g.", people * each, people, each, more,
                               each, more, each * more),
          .answer = fmt::format("{} g", each * more),
          .key = fmt::format("recipe {} {} {}", people, each, more)};
}

Problem purchases(Rng& r, int64_t count) {
  const auto who = pick(r, kPeople);
  std::string bought, key = "purchases", steps;
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t n = between(r, 2, 12), price = between(r, 2, 15), cost = n * price;
    bought += fmt::format("{}{} {}s at {} coins each",
                          i == 0           ? ""
                          : i + 1 == count ? " and "
                                           : ", ",
                          n, pick(r, kThings), price);
    steps += fmt::format("{} * {} = {}. ", n, price, cost);
    if (i > 0) steps += fmt::format("{} + {} = {}. ", sum, cost, sum + cost);
    sum += cost;
    key += fmt::format(" {} {}", n, price);
  }
  steps.pop_back();
  return {.question = fmt::format("{} buys {}. How many coins are that in all?", who, bought),
          .steps = steps,
          .answer = fmt::format("{} coins", sum),
          .key = key};
}

Problem units(Rng& r, int64_t d) {
  struct Unit {
    const char *large, *small;
    int64_t factor;
  };
  constexpr std::array<Unit, 6> kUnits = {{{"m", "cm", 100},
                                           {"km", "m", 1000},
                                           {"kg", "g", 1000},
                                           {"hours", "minutes", 60},
                                           {"l", "ml", 1000},
                                           {"days", "hours", 24}}};
  const Unit& u = kUnits[r.below(kUnits.size())];
  if (d == 0) {
    const int64_t n = between(r, 2, 40);
    return {.question = fmt::format("How many {} are {} {}?", u.small, n, u.large),
            .steps = fmt::format("{} * {} = {}.", n, u.factor, n * u.factor),
            .answer = fmt::format("{} {}", n * u.factor, u.small),
            .key = fmt::format("{} {}", u.large, n)};
  }
  if (d == 1) {
    const int64_t n = between(r, 2, 30), rest = between(r, 1, u.factor - 1), all = n * u.factor + rest;
    const bool up = r.below(2) == 1;
    Problem p{.key = fmt::format("{} {} {}", u.large, n, rest)};
    if (up) {
      p.question = fmt::format("Write {} {} as {} and {}.", all, u.small, u.large, u.small);
      p.steps = fmt::format("{} * {} = {}. {} - {} = {}.", n, u.factor, n * u.factor, all, n * u.factor, rest);
      p.answer = fmt::format("{} {} {} {}", n, u.large, rest, u.small);
    } else {
      p.question = fmt::format("How many {} are {} {} and {} {}?", u.small, n, u.large, rest, u.small);
      p.steps = fmt::format("{} * {} = {}. {} + {} = {}.", n, u.factor, n * u.factor, n * u.factor, rest, all);
      p.answer = fmt::format("{} {}", all, u.small);
    }
    return p;
  }
  if (d == 2) {
    const int64_t n = between(r, 2, 12), price = between(r, 2, 15), cost = n * price, paid = (cost / 50 + 1) * 50;
    const auto who = pick(r, kPeople), thing = pick(r, kThings);
    return {.question = fmt::format("A {} costs {} coins. {} buys {} of them and pays with {} coins. How many coins "
                                    "come back?",
                                    thing, price, who, n, paid),
            .steps = fmt::format("{} * {} = {}. {} - {} = {}.", n, price, cost, paid, cost, paid - cost),
            .answer = fmt::format("{} coins", paid - cost),
            .key = fmt::format("buy {} {} {}", thing, n, price)};
  }
  if (d == 3) {
    const int64_t speed = 6 * between(r, 2, 15), minutes = 10 * between(r, 3, 30), tenth = speed / 6;
    return {
        .question = fmt::format("A boat makes {} km an hour. How many km does it make in {} hours and {} minutes?",
                                speed, minutes / 60, minutes % 60),
        .steps = fmt::format("{} hours and {} minutes are {} minutes, {} times 10 minutes. In 10 minutes: {} / 6 = "
                             "{} km. {} * {} = {} km.",
                             minutes / 60, minutes % 60, minutes, minutes / 10, speed, tenth, tenth, minutes / 10,
                             tenth * minutes / 10),
        .answer = fmt::format("{} km", tenth * minutes / 10),
        .key = fmt::format("boat {} {}", speed, minutes)};
  }
  return d == 4 ? recipe(r) : purchases(r, d - 2);
}

class Units : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return units(r, difficulty); }
};

}  // namespace

void register_units(EnvironmentRegistry& r) {
  r.add("units", "conversion of units, prices, speed and recipes", std::make_unique<Units>(),
        "arithmetic and algebra");
}

}  // namespace quern::gym
