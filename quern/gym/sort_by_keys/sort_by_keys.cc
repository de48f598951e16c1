// Environment `sort_by_keys`: the names of d + 3 rows sorted by one column, and by name where it is equal.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

struct PersonRow {
  std::string name;
  int64_t age, points;
};

// Beyond the names there are, they end in letters, so that their order is that of the alphabet: Ana, …, Anab.
std::vector<PersonRow> rows_of(Rng& r, size_t n) {
  std::vector<PersonRow> rows;
  const auto spread = static_cast<int64_t>(n / 2 + 1);  // few enough values that some are equal
  for (size_t i = 0; i < n; ++i) {
    std::string name(kPeople[i % kPeople.size()]);
    for (size_t k = i / kPeople.size(); k > 0; k /= 26) name += static_cast<char>('a' + k % 26);
    rows.push_back({std::move(name), 20 + between(r, 1, spread), 10 * between(r, 1, spread)});
  }
  shuffle(r, rows);
  return rows;
}

class SortByKeys : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    std::vector<PersonRow> rows = rows_of(r, static_cast<size_t>(difficulty) + 3);
    const bool by_age = r.below(2) == 1, falling = r.below(2) == 1,
               names_falling = difficulty >= 2 && r.below(2) == 1;
    std::string table;
    for (const PersonRow& row : rows)
      table += fmt::format("{}{}, {}, {}", table.empty() ? "" : "; ", row.name, row.age, row.points);
    const auto key = [&](const PersonRow& row) { return by_age ? row.age : row.points; };
    std::ranges::sort(rows, [&](const PersonRow& a, const PersonRow& b) {
      if (key(a) != key(b)) return falling ? key(a) > key(b) : key(a) < key(b);
      return names_falling ? a.name > b.name : a.name < b.name;
    });
    Problem p{.key = table};
    p.question = fmt::format(
        "A table of name, age and points: {}. Sort the rows by {} from {}, and where that is equal by name from {}. "
        "Write the names in this order.",
        table, by_age ? "age" : "points", falling ? "high to low" : "low to high",
        names_falling ? "Z to A" : "A to Z");
    std::vector<std::string> names;
    for (const PersonRow& row : rows) {
      p.steps += fmt::format("{}{}: {}", names.empty() ? "" : ", ", key(row), row.name);
      names.push_back(row.name);
    }
    p.steps += ".";
    p.answer = fmt::format("{}", fmt::join(names, ", "));
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_words(p, reply); }
};

}  // namespace

void register_sort_by_keys(EnvironmentRegistry& r) {
  r.add("sort_by_keys", "the rows of a table sorted by two columns", std::make_unique<SortByKeys>(),
        "data and tables");
}

}  // namespace quern::gym
