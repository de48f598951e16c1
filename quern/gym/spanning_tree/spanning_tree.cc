// Environment `spanning_tree`: the least total length of roads that join d + 4 places, by Kruskal's algorithm.
#include <numeric>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/random_graph.h"

namespace quern::gym {
namespace {

Problem spanning_tree(Rng& r, int64_t d) {
  const int64_t n = d + 4;
  const std::vector<GraphEdge> edges = connected_graph(r, n, 2 * n - 2, 9 + std::min<int64_t>(d, 90));
  std::vector<GraphEdge> sorted = edges;
  std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.weight < b.weight; });
  std::vector<size_t> group(static_cast<size_t>(n) + 1);
  std::iota(group.begin(), group.end(), size_t{0});
  const auto find = [&](int64_t place) {
    auto i = static_cast<size_t>(place);
    while (group[i] != i) i = group[i] = group[group[i]];
    return i;
  };
  Problem p;
  int64_t sum = 0, taken = 0;
  for (const GraphEdge& e : sorted) {
    if (taken == n - 1) break;
    const size_t a = find(e.a), b = find(e.b);
    if (a == b) {
      p.steps += fmt::format("{}-{}: joined already. ", e.a, e.b);
      continue;
    }
    group[a] = b, ++taken;
    p.steps += fmt::format("{}-{}: {} + {} = {}. ", e.a, e.b, sum, e.weight, sum + e.weight);
    sum += e.weight;
  }
  p.steps.pop_back();
  p.question = fmt::format(
      "Roads that could be built, with their costs: {}. Roads are wanted so that all places are joined, directly or "
      "through others, at the least total cost. What is this total cost?",
      weighted_edges_text(edges));
  p.answer = std::to_string(sum);
  p.key = weighted_edges_text(edges);
  return p;
}

class SpanningTree : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return spanning_tree(r, difficulty); }
  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_integer(p, reply); }
};

}  // namespace

void register_spanning_tree(EnvironmentRegistry& r) {
  r.add("spanning_tree", "the least cost of roads that join all places", std::make_unique<SpanningTree>(),
        "graphs and search");
}

}  // namespace quern::gym
