// Environment `flood_fill`: how many squares of a grid with walls can be reached; d / 2 + 4 rows of as many squares.
// Saturates at difficulty 60.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr int64_t kHardest = 60;

Problem flood_fill(Rng& r, int64_t d) {
  const int64_t side = d / 2 + 4, row = between(r, 1, side), column = between(r, 1, side);
  std::vector<std::string> grid(static_cast<size_t>(side), std::string(static_cast<size_t>(side), '.'));
  for (std::string& line : grid)
    for (char& c : line) c = r.below(100) < 35 ? '#' : '.';
  const auto square = [&](int64_t y, int64_t x) -> char& {
    return grid[static_cast<size_t>(y) - 1][static_cast<size_t>(x) - 1];
  };
  square(row, column) = '.';
  Problem p;
  const std::string text = fmt::format("{}", fmt::join(grid, " / "));
  int64_t count = 0;
  std::vector<std::pair<int64_t, int64_t>> ring = {{row, column}};
  square(row, column) = 'o';
  for (int64_t step = 0; !ring.empty(); ++step) {  // squares as far from the start, ring by ring
    std::vector<std::pair<int64_t, int64_t>> next;
    p.steps += fmt::format("Distance {}:", step);
    for (const auto& [y, x] : ring) {
      p.steps += fmt::format(" {}-{}", y, x);
      for (const auto& [dy, dx] : {std::pair(-1, 0), {0, -1}, {0, 1}, {1, 0}}) {
        const int64_t v = y + dy, u = x + dx;
        if (v < 1 || v > side || u < 1 || u > side || square(v, u) != '.') continue;
        square(v, u) = 'o';
        next.emplace_back(v, u);
      }
    }
    p.steps += fmt::format(", {} + {} = {}. ", count, ring.size(), count + std::ssize(ring));
    count += std::ssize(ring);
    ring = std::move(next);
  }
  p.steps.pop_back();
  p.question = fmt::format(
      "In this grid # is a wall and . is free, rows from the top: {}. You stand in row {}, column {}, both counted "
      "from 1. "
      "A move goes up, down, left or right to a free square. How many squares can you stand on, the first included?",
      text, row, column);
  p.answer = std::to_string(count);
  p.key = fmt::format("{} {} {}", text, row, column);
  return p;
}

class FloodFill : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    return flood_fill(r, std::min(difficulty, kHardest));
  }
  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_integer(p, reply); }
  std::optional<int64_t> saturates_at() const override { return kHardest; }
};

}  // namespace

void register_flood_fill(EnvironmentRegistry& r) {
  r.add("flood_fill", "squares of a grid with walls that can be reached", std::make_unique<FloodFill>(),
        "geometry on grids");
}

}  // namespace quern::gym
