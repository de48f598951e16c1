#include "quern/recall/graph/planner.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace quern::recall {

GridWorld::GridWorld(uint32_t width, uint32_t height) : width_(width), height_(height) {
  if (width < 1 || height < 1 || uint64_t{width} * height > (1u << 26))
    fail("grid world: {} × {} cells, expected at least 1 and at most 2²⁶ in all", width, height);
  wall_.resize(size_t{width} * height);
}

GridWorld GridWorld::parse(std::string_view rows) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < rows.size();) {
    const size_t end = std::min(rows.find('\n', at), rows.size());
    if (end > at) lines.push_back(rows.substr(at, end - at));
    at = end + 1;
  }
  if (lines.empty()) fail("grid world: no rows");
  GridWorld w(static_cast<uint32_t>(lines[0].size()), static_cast<uint32_t>(lines.size()));
  for (uint32_t y = 0; y < lines.size(); ++y) {
    if (lines[y].size() != lines[0].size())
      fail("grid world: row {} has {} cells, the first {}", y, lines[y].size(), lines[0].size());
    for (uint32_t x = 0; x < lines[y].size(); ++x) {
      const char c = lines[y][x];
      if (c != '.' && c != '#') fail("grid world: '{}' at {}, {}; expected . or #", c, x, y);
      w.wall_[w.state(x, y)] = c == '#';
    }
  }
  return w;
}

uint32_t GridWorld::state(uint32_t x, uint32_t y) const {
  if (x >= width_ || y >= height_) fail("grid world: cell {}, {} of {} × {}", x, y, width_, height_);
  return y * width_ + x;
}

std::vector<uint32_t> GridWorld::rectangle(uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1) const {
  std::vector<uint32_t> out;
  for (uint32_t y = std::min(y0, y1); y <= std::max(y0, y1); ++y)
    for (uint32_t x = std::min(x0, x1); x <= std::max(x0, x1); ++x) out.push_back(state(x, y));
  return out;
}

void GridWorld::wall(uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1) {
  for (uint32_t s : rectangle(x0, y0, x1, y1)) wall_[s] = true;
}

void GridWorld::clear(uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1) {
  for (uint32_t s : rectangle(x0, y0, x1, y1)) wall_[s] = false;
}

std::vector<uint32_t> GridWorld::neighbors(uint32_t s) const {
  std::vector<uint32_t> out;
  if (wall_[s]) return out;
  const uint32_t x = s % width_, y = s / width_;
  const auto add = [&](uint32_t n) {
    if (!wall_[n]) out.push_back(n);
  };
  if (y > 0) add(s - width_);
  if (x > 0) add(s - 1);
  if (x + 1 < width_) add(s + 1);
  if (y + 1 < height_) add(s + width_);
  return out;
}

SparseGraph GridWorld::graph() const {
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t s = 0; s < size(); ++s)
    for (const uint32_t n : neighbors(s)) edges.emplace_back(s, n);
  return graph_of(size(), edges);
}

int64_t GridWorld::distance(uint32_t from, uint32_t to) const {
  std::vector<int64_t> steps(size(), -1);
  std::deque<uint32_t> queue = {from};
  steps.at(from) = 0;
  for (; !queue.empty(); queue.pop_front())
    for (const uint32_t n : neighbors(queue.front()))
      if (steps[n] < 0) steps[n] = steps[queue.front()] + 1, queue.push_back(n);
  return steps.at(to);
}

Planner::Planner(SparseGraph graph, double discount)
    : graph_(std::move(graph)), in_(transposed(graph_.view())), discount_(discount) {
  if (!(discount > 0 && discount < 1)) fail("planner: discount {}, expected above 0 and below 1", discount);
}

std::vector<double> Planner::values(std::span<const double> reward) const {
  // Far below the usual tolerance: states far from the goal differ by very little.
  return resolvent().column(reward, {1 - discount_}, {.tolerance = 1e-25, .max_iterations = 100000});
}

std::vector<double> Planner::values(uint32_t goal) const {
  std::vector<double> reward(size());
  reward.at(goal) = 1;
  return values(reward);
}

std::vector<uint32_t> Planner::path(uint32_t from, uint32_t goal) const { return path(from, goal, values(goal)); }

std::vector<uint32_t> Planner::path(uint32_t from, uint32_t goal, std::span<const double> values) const {
  QUERN_CHECK(from < size() && goal < size() && values.size() == size());
  std::vector<uint32_t> out = {from};
  while (out.back() != goal) {
    const uint32_t s = out.back();
    uint32_t best = s;
    for (uint64_t i = graph_.begin[s]; i < graph_.begin[s + 1]; ++i)
      if (graph_.to[i] == goal || (best != goal && values[graph_.to[i]] > values[best])) best = graph_.to[i];
    if (best == s || out.size() > size()) return {};
    out.push_back(best);
  }
  return out;
}

std::vector<double> Planner::occupancy(uint32_t from) const {
  std::vector<double> seed(size());
  seed.at(from) = 1;
  std::vector<double> row = resolvent().row(seed, {1 - discount_});
  for (double& x : row) x /= 1 - discount_;
  return row;
}

int64_t Planner::repair(const SparseGraph& changed, std::span<const double> reward, double epsilon,
                        std::vector<double>& v) {
  QUERN_CHECK(changed.size() == size() && reward.size() == size() && v.size() == size());
  if (!(epsilon > 0)) fail("planner: epsilon {}, expected above 0", epsilon);
  SparseGraph before = std::move(graph_);
  graph_ = changed;
  in_ = transposed(graph_.view());
  // Residual of the old values in the new world, only where moves changed; then pushed backwards, with its sign.
  std::vector<double> residual(size());
  std::vector<bool> queued(size()), seen(size());
  std::deque<uint32_t> queue;
  int64_t touched = 0;
  const auto ask = [&](uint32_t s) {
    if (!seen[s]) seen[s] = true, ++touched;
    if (std::abs(residual[s]) > epsilon && !queued[s]) queued[s] = true, queue.push_back(s);
  };
  for (uint32_t s = 0; s < size(); ++s) {
    const auto row = [&](const SparseGraph& g) {
      return std::span(g.to).subspan(g.begin[s], g.begin[s + 1] - g.begin[s]);
    };
    const auto weights = [&](const SparseGraph& g) {
      return std::span(g.weight).subspan(g.begin[s], g.begin[s + 1] - g.begin[s]);
    };
    if (std::ranges::equal(row(before), row(graph_)) && std::ranges::equal(weights(before), weights(graph_)))
      continue;
    double sum = 0;
    for (uint64_t i = graph_.begin[s]; i < graph_.begin[s + 1]; ++i) sum += graph_.weight[i] * v[graph_.to[i]];
    residual[s] = reward[s] + (graph_.degree[s] > 0 ? discount_ * sum / graph_.degree[s] : 0) - v[s];
    ask(s);
  }
  for (; !queue.empty();) {
    const uint32_t s = queue.front();
    queue.pop_front();
    queued[s] = false;
    const double r = residual[s];
    residual[s] = 0;
    v[s] += r;
    for (uint64_t i = in_.begin[s]; i < in_.begin[s + 1]; ++i) {
      const uint32_t u = in_.to[i];
      residual[u] += discount_ * r * in_.weight[i] / graph_.degree[u];
      ask(u);
    }
  }
  return touched;
}

}  // namespace quern::recall
