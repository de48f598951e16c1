// Environment `join_tables`: what one of the people of d + 3 orders pays, by a second table of prices.
#include <map>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

class JoinTables : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const size_t orders = static_cast<size_t>(difficulty) + 3;
    const std::vector<std::string> people = several(r, kPeople, std::min<size_t>(2 + orders / 4, kPeople.size())),
                                   things = several(r, kThings, std::min<size_t>(2 + orders / 3, kThings.size()));
    std::map<std::string, int64_t> price;
    std::string prices, list;
    for (const std::string& thing : things) {
      price[thing] = between(r, 2, 9 + 2 * difficulty);
      prices += fmt::format("{}{}, {}", prices.empty() ? "" : "; ", thing, price[thing]);
    }
    Problem p;
    int64_t sum = 0;
    for (size_t i = 0; i < orders; ++i) {
      const std::string person = i == 0 ? people[0] : std::string(pick(r, people));  // the first orders something
      const std::string thing(pick(r, things));
      const int64_t n = between(r, 1, 9), cost = n * price[thing];
      const std::string row = fmt::format("{}, {}, {}", person, thing, n);
      const bool in_front = r.below(2) == 1;
      list = list.empty() ? row : in_front ? row + "; " + list : list + "; " + row;
      if (person != people[0]) continue;
      p.steps += fmt::format("{} * {} = {}. {} + {} = {}. ", n, price[thing], cost, sum, cost, sum + cost);
      sum += cost;
    }
    p.question = fmt::format(
        "A table of thing and price of one: {}. A table of person, thing and number ordered: {}. How much must {} "
        "pay in all?",
        prices, list, people[0]);
    p.steps += fmt::format("{} pays {}.", people[0], sum);
    p.answer = std::to_string(sum);
    p.key = fmt::format("{} / {}", prices, list);
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_number(p, reply); }
};

}  // namespace

void register_join_tables(EnvironmentRegistry& r) {
  r.add("join_tables", "the cost of a person's orders, by a table of prices", std::make_unique<JoinTables>(),
        "data and tables");
}

}  // namespace quern::gym
