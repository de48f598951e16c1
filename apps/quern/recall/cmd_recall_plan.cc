// quern recall plan: planning in a grid world with the kernel of retrieval, and how well its identities hold.
#include <algorithm>
#include <cmath>

#include "apps/quern/cli/args.h"
#include "apps/quern/recall/cmd_recall.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/recall/graph/planner.h"

namespace quern::cli {
namespace {

constexpr const char* kWorld = "S...#..G\n....#...\n....#...\n....#...\n....#...\n....#...\n....#...\n........\n";

struct Scene {
  std::string rows;
  uint32_t width = 0, from = 0, goal = 0;
};

Scene read_scene(const std::string& text, const std::string& where) {
  Scene s;
  int starts = 0, goals = 0;
  uint32_t cell = 0;
  for (char c : text) {
    if (c == '\n') {
      if (s.width == 0) s.width = cell;
      s.rows += c;
      continue;
    }
    if (c == 'S') s.from = cell, ++starts;
    if (c == 'G') s.goal = cell, ++goals;
    s.rows += c == 'S' || c == 'G' ? '.' : c;
    ++cell;
  }
  if (starts != 1 || goals != 1) fail("{}: found {} S and {} G, expected one of each", where, starts, goals);
  if (s.width == 0) s.width = cell;
  return s;
}

std::vector<double> one_hot(size_t n, uint32_t at) {
  std::vector<double> v(n);
  v[at] = 1;
  return v;
}

// Steps of a random walk, and the relative error of what is learned from them.
double td_error(const recall::SparseGraph& g, const recall::Planner& p, uint32_t start, int64_t steps) {
  recall::SuccessorLearner learner(g.size(), p.discount());
  Rng rng(1);
  uint32_t s = start;
  for (int64_t t = 0; t < steps; ++t) {
    const uint64_t moves = g.begin[s + 1] - g.begin[s];
    if (moves == 0) fail("grid world: the start S has no free neighbor");
    const uint32_t next = g.to[g.begin[s] + rng.below(moves)];
    learner.step(s, next, 0.1);
    s = next;
  }
  double difference = 0, norm = 0;
  for (uint32_t from = 0; from < g.size(); ++from) {
    if (g.begin[from + 1] == g.begin[from]) continue;
    const auto row = p.occupancy(from);
    for (size_t j = 0; j < g.size(); ++j)
      difference += std::pow(learner.row(from)[j] - row[j], 2), norm += row[j] * row[j];
  }
  return std::sqrt(difference / norm);
}

}  // namespace

int recall_plan(Words args) {
  std::string file;
  double discount = 0.95;
  int64_t steps = 200000;
  bool json = false;
  Args a("recall plan", "plan a path through a grid world with the resolvent that ranks chunks");
  a.flag("--grid FILE", file, "grid: lines of . and # with one S and one G [8 × 8 with a wall]")
      .flag("--discount X", discount, "discount factor γ, between 0 and 1")
      .flag("--steps N", steps, "length of the random walk that the successor representation is learned from")
      .json(json);
  if (!a.parse(args)) return 0;
  if (steps < 1) throw UsageError(fmt::format("quern recall plan: --steps {}: expected 1 or more", steps));
  const Scene scene = read_scene(file.empty() ? kWorld : read_file(file), file.empty() ? "built-in grid" : file);
  recall::GridWorld world = recall::GridWorld::parse(scene.rows);
  if (world.size() > 4096) fail("grid world: {} cells, expected at most 4096", world.size());
  const recall::SparseGraph g = world.graph();
  recall::Planner planner(g, discount);
  const auto values = planner.values(scene.goal);
  const auto path = planner.path(scene.from, scene.goal, values);

  // (1 − γ) M against π at the start, both ways; balance over all pairs with the start.
  const recall::Resolvent walk(g.view());
  const recall::RestartProb alpha{1 - discount};
  const auto pi = walk.row(one_hot(g.size(), scene.from), alpha);
  double identity = 0, balance = 0;
  for (uint32_t t = 0; t < g.size(); ++t) {
    if (g.degree[t] == 0) continue;
    identity =
        std::max(identity, std::abs(pi[t] - alpha.value * walk.column(one_hot(g.size(), t), alpha)[scene.from]));
    const auto back = walk.row(one_hot(g.size(), t), alpha);
    balance = std::max(balance, std::abs(g.degree[scene.from] * pi[t] - g.degree[t] * back[scene.from]));
  }
  // The cell in the middle of the way becomes a wall and the values are repaired.
  double repair_error = 0;
  int64_t touched = 0, detour = -1;
  if (path.size() > 2) {
    const uint32_t middle = path[path.size() / 2], width = scene.width;
    recall::GridWorld blocked = world;
    blocked.wall(middle % width, middle / width, middle % width, middle / width);
    auto repaired = values;
    recall::Planner changing(g, discount);
    touched = changing.repair(blocked.graph(), one_hot(g.size(), scene.goal), 1e-13, repaired);
    const auto fresh = recall::Planner(blocked.graph(), discount).values(scene.goal);
    for (size_t s = 0; s < g.size(); ++s) repair_error = std::max(repair_error, std::abs(repaired[s] - fresh[s]));
    detour = static_cast<int64_t>(changing.path(scene.from, scene.goal, repaired).size()) - 1;
  }
  Json j = Json::object();
  j.set("moves", static_cast<int64_t>(path.size()) - 1), j.set("shortest", world.distance(scene.from, scene.goal));
  j.set("identity_error", identity), j.set("balance_error", balance);
  j.set("repair_error", repair_error), j.set("repair_touched", touched), j.set("detour_moves", detour);
  j.set("td_error", td_error(g, planner, scene.from, steps));
  if (json) {
    fmt::print("{}\n", j.dump());
    return 0;
  }
  for (uint32_t s = 0; s < g.size(); ++s) {
    const bool on = std::find(path.begin(), path.end(), s) != path.end();
    fmt::print("{}{}",
               s == scene.from    ? "S"
               : s == scene.goal  ? "G"
               : world.is_wall(s) ? "#"
               : on               ? "o"
                                  : ".",
               (s + 1) % scene.width == 0 ? "\n" : "");
  }
  fmt::print("{}\n", j.dump(2));
  return 0;
}

}  // namespace quern::cli
