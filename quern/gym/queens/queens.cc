// Environment `queens`: d + 2 missing queens of a placement on a board whose side has no divisor 2 or 3. There the rows
// k c + s modulo the side are a placement if k, k - 1 and k + 1 have no divisor in common with it. Any completion counts.
#include <numeric>
#include <set>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

int64_t side_of(int64_t difficulty) {  // 5, 7, 11, 13, 17, …
  return 6 * (difficulty / 2) + (difficulty % 2 == 0 ? 5 : 7);
}

std::vector<int64_t> placement(Rng& r, int64_t n) {
  const int64_t shift = between(r, 0, n - 1);
  int64_t k = 0;
  do k = between(r, 2, n - 2);
  while (std::gcd(k, n) != 1 || std::gcd(k - 1, n) != 1 || std::gcd(k + 1, n) != 1);
  std::vector<int64_t> rows;
  for (int64_t c = 0; c < n; ++c) rows.push_back((k * c + shift) % n + 1);
  return rows;
}

class Queens : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const int64_t n = side_of(difficulty);
    const std::vector<int64_t> rows = placement(r, n);
    std::vector<int64_t> given = rows;
    std::vector<size_t> columns(rows.size());
    std::iota(columns.begin(), columns.end(), size_t{0});
    shuffle(r, columns);
    for (size_t i = 0; i < static_cast<size_t>(difficulty) + 2; ++i) given[columns[i]] = 0;
    std::string placed;
    Problem p;
    for (size_t c = 0; c < rows.size(); ++c) {
      if (given[c] != 0) placed += fmt::format("{}column {} row {}", placed.empty() ? "" : ", ", c + 1, given[c]);
      if (given[c] == 0) p.steps += fmt::format("Column {}: row {} is free. ", c + 1, rows[c]);
    }
    p.steps += "No two share a row or a diagonal.";
    p.question = fmt::format(
        "Place {0} queens on a board of {0} columns and {0} rows, one in each column, so that no two share a row or "
        "a diagonal. These are placed: {1}. Write the rows of all {0} queens, from column 1 to column {0}.",
        n, placed);
    p.answer = fmt::format("{}", fmt::join(rows, ", "));
    p.key = fmt::format("{} queens: {}", n, placed);
    p.facts.set("given", json_array(given));
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const auto rows = answer_numbers(final_answer(reply));
    if (!rows) return {0, "the answer is not a list of rows"};
    const std::vector<int64_t> given = json_numbers(p.facts.at("given"));
    const auto n = static_cast<int64_t>(given.size());
    if (rows->size() != given.size()) return {0, fmt::format("{} rows, not {}", rows->size(), n)};
    std::set<int64_t> used, up, down;
    for (size_t c = 0; c < given.size(); ++c) {
      const int64_t row = (*rows)[c], column = static_cast<int64_t>(c);
      if (row < 1 || row > n) return {0, fmt::format("there is no row {}", row)};
      if (given[c] != 0 && given[c] != row) return {0, fmt::format("the queen of column {} was moved", c + 1)};
      if (!used.insert(row).second) return {0, fmt::format("two queens in row {}", row)};
      if (!up.insert(row - column).second || !down.insert(row + column).second)
        return {0, fmt::format("the queen of column {} shares a diagonal", c + 1)};
    }
    return {1, "no two queens share a row or a diagonal"};
  }
};

}  // namespace

void register_queens(EnvironmentRegistry& r) {
  r.add("queens", "the missing queens of a placement in which none attacks another", std::make_unique<Queens>(),
        "logic and constraints");
}

}  // namespace quern::gym
