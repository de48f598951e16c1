// Environment `table_lookup`: the sum, the count, the largest or the smallest of the rows of a table that meet a
// condition; d + 4 rows.
#include <array>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr std::array<std::string_view, 4> kColors = {"red", "blue", "green", "white"};

struct StockRow {
  std::string thing, color;
  int64_t price;
};

std::string thing_name(size_t i) {
  const std::string name(kThings[i % kThings.size()]);
  return i < kThings.size() ? name : fmt::format("{}{}", name, i / kThings.size() + 1);
}

std::vector<StockRow> stock(Rng& r, size_t n, int64_t highest) {
  std::vector<StockRow> rows;
  for (size_t i = 0; i < n; ++i)
    rows.push_back({thing_name(i), std::string(pick(r, kColors)), between(r, 1, highest)});
  shuffle(r, rows);
  return rows;
}

Problem lookup(Rng& r, int64_t difficulty) {
  enum { sum, count, largest, smallest };
  const std::vector<StockRow> rows = stock(r, static_cast<size_t>(difficulty) + 4, 20 + 10 * difficulty);
  const std::string color = rows[r.below(rows.size())].color;  // at least one row meets the condition
  const uint64_t wanted = r.below(4);
  const int64_t above = wanted == count ? between(r, 1, 10 + 5 * difficulty) : 0;
  std::string table;
  std::vector<std::string> chosen;
  std::vector<int64_t> prices;
  for (const StockRow& row : rows) {
    table += fmt::format("{}{}, {}, {}", table.empty() ? "" : "; ", row.thing, row.color, row.price);
    if (row.color == color && row.price > above)
      chosen.push_back(fmt::format("{} {}", row.thing, row.price)), prices.push_back(row.price);
  }
  Problem p{.key = table};
  p.question = fmt::format("A table of thing, color and price: {}. ", table);
  p.steps = fmt::format("Rows that count: {}.", chosen.empty() ? "none" : fmt::format("{}", fmt::join(chosen, ", ")));
  int64_t result = wanted == count ? static_cast<int64_t>(prices.size()) : wanted == sum ? 0 : prices[0];
  if (wanted == sum) {
    p.question += fmt::format("What is the sum of the prices of the {} things?", color);
    for (int64_t x : prices) p.steps += fmt::format(" {} + {} = {}.", result, x, result + x), result += x;
  } else if (wanted == count) {
    p.question += fmt::format("How many {} things have a price above {}?", color, above);
    p.steps += fmt::format(" Their number is {}.", result);
  } else {
    p.question +=
        fmt::format("What is the {} price of the {} things?", wanted == largest ? "highest" : "lowest", color);
    for (int64_t x : prices) result = wanted == largest ? std::max(result, x) : std::min(result, x);
    p.steps += fmt::format(" The {} is {}.", wanted == largest ? "highest" : "lowest", result);
  }
  p.answer = std::to_string(result);
  return p;
}

class TableLookup : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return lookup(r, difficulty); }
  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_number(p, reply); }
};

}  // namespace

void register_table_lookup(EnvironmentRegistry& r) {
  r.add("table_lookup", "sum, count, highest and lowest of some rows of a table", std::make_unique<TableLookup>(),
        "data and tables");
}

}  // namespace quern::gym
