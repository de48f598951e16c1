// Environment `sudoku`: 4 x 4 up to difficulty 3, then 9 x 9 with ever more empty cells. One solution: a cell is emptied
// only if a search with the fewest candidates first finds no second one.
#include <bit>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr int64_t kHardest = 15;

struct SudokuGrid {
  size_t box, n;               // n = box * box
  std::vector<uint32_t> cell;  // 0: empty

  uint32_t candidates(size_t at) const {  // a bit for each number
    const size_t row = at / n, column = at % n, top = row / box * box, left = column / box * box;
    uint32_t used = 0;
    for (size_t i = 0; i < n; ++i)
      used |= 1u << cell[row * n + i] | 1u << cell[i * n + column] | 1u << cell[(top + i / box) * n + left + i % box];
    return ((1u << (n + 1)) - 2) & ~used;
  }
  // The empty cell with the fewest candidates; cell.size(): none is empty.
  size_t next_cell(uint32_t& choices) const {
    size_t best = cell.size();
    int fewest = 100;
    for (size_t i = 0; i < cell.size() && fewest > 1; ++i) {
      if (cell[i] != 0) continue;
      const uint32_t c = candidates(i);
      if (std::popcount(c) < fewest) best = i, fewest = std::popcount(c), choices = c;
    }
    return best;
  }
};

// Counts solutions, up to `limit`.
int count_solutions(SudokuGrid& g, int limit) {
  uint32_t choices = 0;
  const size_t at = g.next_cell(choices);
  if (at == g.cell.size()) return 1;
  int found = 0;
  for (; choices != 0 && found < limit; choices &= choices - 1) {
    g.cell[at] = static_cast<uint32_t>(std::countr_zero(choices));
    found += count_solutions(g, limit - found);
  }
  g.cell[at] = 0;
  return found;
}

// The order of rows, or columns, that keeps those of a box together.
std::vector<size_t> line_order(Rng& r, size_t box) {
  std::vector<size_t> out, bands;
  for (size_t i = 0; i < box; ++i) bands.push_back(i);
  shuffle(r, bands);
  for (size_t b : bands) {
    std::vector<size_t> lines;
    for (size_t i = 0; i < box; ++i) lines.push_back(b * box + i);
    shuffle(r, lines);
    out.insert(out.end(), lines.begin(), lines.end());
  }
  return out;
}

SudokuGrid full_grid(Rng& r, size_t box) {
  SudokuGrid g{box, box * box, {}};
  const std::vector<size_t> rows = line_order(r, box), columns = line_order(r, box);
  std::vector<uint32_t> numbers;
  for (size_t i = 1; i <= g.n; ++i) numbers.push_back(static_cast<uint32_t>(i));
  shuffle(r, numbers);
  for (size_t row : rows)
    for (size_t column : columns) g.cell.push_back(numbers[(row % box * box + row / box + column) % g.n]);
  return g;
}

std::string text_of(const SudokuGrid& g) {
  std::string s;
  for (size_t i = 0; i < g.cell.size(); ++i) {
    s += i == 0 ? "" : i % g.n == 0 ? " / " : " ";
    s += g.cell[i] == 0 ? "_" : std::to_string(g.cell[i]);
  }
  return s;
}

std::string worked(SudokuGrid g, const SudokuGrid& solution) {
  std::string steps;
  uint32_t choices = 0;
  for (size_t at; (at = g.next_cell(choices)) < g.cell.size();) {
    g.cell[at] = solution.cell[at];
    steps += fmt::format("{}Row {}, column {}: {} {}.", steps.empty() ? "" : " ", at / g.n + 1, at % g.n + 1,
                         std::popcount(choices) == 1 ? "only" : "by trial", g.cell[at]);
  }
  return steps;
}

class Sudoku : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const int64_t d = std::min(difficulty, kHardest), wanted = d < 4 ? 4 + 2 * d : 6 + 4 * (d - 4);
    const SudokuGrid solution = full_grid(r, d < 4 ? 2 : 3);
    SudokuGrid g = solution;
    std::vector<size_t> order;
    for (size_t i = 0; i < g.cell.size(); ++i) order.push_back(i);
    shuffle(r, order);
    int64_t emptied = 0;
    for (size_t i = 0; i < order.size() && emptied < wanted; ++i) {
      g.cell[order[i]] = 0;
      if (count_solutions(g, 2) == 1)
        ++emptied;
      else
        g.cell[order[i]] = solution.cell[order[i]];
    }
    std::vector<uint32_t> missing;
    for (size_t i = 0; i < g.cell.size(); ++i)
      if (g.cell[i] == 0) missing.push_back(solution.cell[i]);
    Problem p{.key = text_of(g)};
    p.question = fmt::format(
        "Fill in this sudoku. Each row, each column and each {0} x {0} box must hold the numbers 1 to {1} once. "
        "Rows are separated by a slash, empty cells are marked _. Write only the missing numbers, row by row from "
        "left to right: {2}",
        g.box, g.n, p.key);
    p.steps = worked(g, solution);
    p.answer = fmt::format("{}", fmt::join(missing, ", "));
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_numbers(p, reply); }
  std::optional<int64_t> saturates_at() const override { return kHardest; }
};

}  // namespace

void register_sudoku(EnvironmentRegistry& r) {
  r.add("sudoku", "the missing numbers of a sudoku of 4 or 9 rows", std::make_unique<Sudoku>(),
        "logic and constraints");
}

}  // namespace quern::gym
