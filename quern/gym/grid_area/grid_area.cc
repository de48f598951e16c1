// Environment `grid_area`: how many squares of a grid d / 2 + 2 rectangles cover together; they may overlap.
#include <map>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

struct Rectangle {
  int64_t left = 0, right = 0, low = 0, high = 0;  // all inside
};

Problem grid_area(Rng& r, int64_t d) {
  const int64_t side = 5 + std::min<int64_t>(d, 200), largest = std::min<int64_t>(3 + d / 3, 10);
  std::vector<Rectangle> all;
  std::vector<std::string> texts;
  for (int64_t i = 0; i < d / 2 + 2; ++i) {
    const int64_t width = between(r, 1, largest), height = between(r, 1, largest),
                  x = between(r, 1, side - width + 1), y = between(r, 1, side - height + 1);
    all.push_back({x, x + width - 1, y, y + height - 1});
    texts.push_back(fmt::format("columns {} to {} of rows {} to {}", x, x + width - 1, y, y + height - 1));
  }
  std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>> rows;  // spans of columns
  for (const Rectangle& b : all)
    for (int64_t y = b.low; y <= b.high; ++y) rows[y].emplace_back(b.left, b.right);
  Problem p;
  int64_t sum = 0;
  for (auto& [y, spans] : rows) {
    std::sort(spans.begin(), spans.end());
    std::vector<std::string> parts;
    int64_t count = 0;
    for (size_t i = 0; i < spans.size();) {
      auto [from, to] = spans[i];
      for (++i; i < spans.size() && spans[i].first <= to + 1; ++i) to = std::max(to, spans[i].second);
      parts.push_back(fmt::format("{} to {}", from, to));
      count += to - from + 1;
    }
    p.steps += fmt::format("Row {}: {}, which is {}; {} + {} = {}. ", y, fmt::join(parts, " and "), count, sum, count,
                           sum + count);
    sum += count;
  }
  p.steps.pop_back();
  p.question = fmt::format(
      "On a grid these squares are painted: {}. A square may be painted more than once. How many squares "
      "are painted at least once?",
      fmt::join(texts, "; "));
  p.answer = std::to_string(sum);
  p.key = fmt::format("{}", fmt::join(texts, "; "));
  return p;
}

class GridArea : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return grid_area(r, difficulty); }
  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_integer(p, reply); }
};

}  // namespace

void register_grid_area(EnvironmentRegistry& r) {
  r.add("grid_area", "squares of a grid that rectangles cover together", std::make_unique<GridArea>(),
        "geometry on grids");
}

}  // namespace quern::gym
