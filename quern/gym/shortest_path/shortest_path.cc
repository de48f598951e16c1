// Environment `shortest_path`: a shortest path between two of d + 5 places, along roads with lengths that lead both
// ways. Every shortest path is right; it is checked road by road.
#include <limits>
#include <map>
#include <queue>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/random_graph.h"

namespace quern::gym {
namespace {

constexpr int64_t kFar = std::numeric_limits<int64_t>::max();

struct ShortestPath {
  std::vector<int64_t> places = {};
  int64_t length = 0;
  std::string steps = {};
};

// Dijkstra's algorithm; of places as far, the smallest number first.
ShortestPath shortest_path(const std::vector<GraphEdge>& edges, int64_t n, int64_t from, int64_t to) {
  const auto near = neighbors_of(n, edges);
  std::vector<int64_t> length(static_cast<size_t>(n) + 1, kFar), before(static_cast<size_t>(n) + 1);
  std::vector<char> settled(static_cast<size_t>(n) + 1);
  using Entry = std::pair<int64_t, int64_t>;  // length, place
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
  length[static_cast<size_t>(from)] = 0;
  next.emplace(0, from);
  ShortestPath out;
  while (!settled[static_cast<size_t>(to)]) {
    const auto [far, at] = next.top();
    next.pop();
    if (settled[static_cast<size_t>(at)]) continue;
    settled[static_cast<size_t>(at)] = 1;
    if (at == from)
      out.steps = fmt::format("{} is at 0.", at);
    else
      out.steps += fmt::format(" {} is at {}, from {}.", at, far, before[static_cast<size_t>(at)]);
    for (const auto& [place, weight] : near[static_cast<size_t>(at)]) {
      int64_t& best = length[static_cast<size_t>(place)];
      if (far + weight >= best) continue;
      best = far + weight, before[static_cast<size_t>(place)] = at;
      next.emplace(best, place);
    }
  }
  out.length = length[static_cast<size_t>(to)];
  for (int64_t at = to; at != 0; at = before[static_cast<size_t>(at)]) out.places.push_back(at);
  std::reverse(out.places.begin(), out.places.end());
  return out;
}

Problem problem(Rng& r, int64_t d) {
  const int64_t n = d + 5, from = between(r, 1, n);
  const std::vector<GraphEdge> edges = connected_graph(r, n, n + n / 2, 9 + std::min<int64_t>(d, 90));
  const auto joined = [&](int64_t place) {
    return std::any_of(edges.begin(), edges.end(), [&](const GraphEdge& e) {
      return (e.a == from && e.b == place) || (e.a == place && e.b == from);
    });
  };
  int64_t to = from;
  for (int tries = 0; to == from || (joined(to) && tries < 10); ++tries)
    to = between(r, 1, n);  // rarely one road away
  const ShortestPath best = shortest_path(edges, n, from, to);
  Problem p;
  p.question = fmt::format(
      "Roads and their lengths: {}. They lead both ways. Find a shortest path from {} to {}. Write all its places in "
      "order, "
      "separated by commas.",
      weighted_edges_text(edges), from, to);
  p.steps = fmt::format("{} So the path has length {}.", best.steps, best.length);
  p.answer = fmt::format("{}", fmt::join(best.places, ", "));
  p.key = fmt::format("{} {} {}", from, to, weighted_edges_text(edges));
  p.facts.set("edges", edges_json(edges)), p.facts.set("from", from), p.facts.set("to", to);
  p.facts.set("length", best.length);
  return p;
}

class ShortestPaths : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return problem(r, difficulty); }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const std::vector<int64_t> path = integers_in(final_answer(reply));
    if (path.empty()) return {0, "the answer is not a list of places"};
    if (path.front() != p.facts.at("from").as_int()) return {0, "the path does not begin at the start"};
    if (path.back() != p.facts.at("to").as_int()) return {0, "the path does not end at the goal"};
    std::map<std::pair<int64_t, int64_t>, int64_t> roads;
    for (const GraphEdge& e : edges_of(p.facts.at("edges"))) roads[{e.a, e.b}] = e.weight;
    int64_t length = 0;
    for (size_t i = 1; i < path.size(); ++i) {
      const auto road = roads.find({std::min(path[i - 1], path[i]), std::max(path[i - 1], path[i])});
      if (road == roads.end()) return {0, fmt::format("no road joins {} and {}", path[i - 1], path[i])};
      length += road->second;
    }
    const int64_t shortest = p.facts.at("length").as_int();
    if (length == shortest) return {1, fmt::format("a shortest path, of length {}", length)};
    return {0, fmt::format("the path has length {}, the shortest {}", length, shortest)};
  }
};

}  // namespace

void register_shortest_path(EnvironmentRegistry& r) {
  r.add("shortest_path", "a shortest path between two places, along roads with lengths",
        std::make_unique<ShortestPaths>(), "graphs and search");
}

}  // namespace quern::gym
