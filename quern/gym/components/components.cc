// Environment `components`: how many connected components a graph of d + 5 places has, or how large they are.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/random_graph.h"

namespace quern::gym {
namespace {

Problem components(Rng& r, int64_t d) {
  const int64_t n = d + 5, groups = between(r, 1, 2 + n / 5);
  std::vector<int64_t> group(static_cast<size_t>(n) + 1);
  for (size_t i = 1; i < group.size(); ++i) group[i] = between(r, 1, groups);
  std::vector<GraphEdge> edges;
  for (const GraphEdge& e : connected_graph(r, n, 3 * n, 1))  // of it, the roads inside groups, and not all of them
    if (group[static_cast<size_t>(e.a)] == group[static_cast<size_t>(e.b)] && r.below(4) > 0) edges.push_back(e);
  if (edges.empty()) edges.push_back({1, 2, 1});
  const auto near = neighbors_of(n, edges);
  std::vector<char> seen(static_cast<size_t>(n) + 1);
  std::vector<int64_t> sizes;
  Problem p;
  for (int64_t start = 1; start <= n; ++start) {
    if (seen[static_cast<size_t>(start)]) continue;
    std::vector<int64_t> reached = {start};
    seen[static_cast<size_t>(start)] = 1;
    for (size_t i = 0; i < reached.size(); ++i)
      for (const auto& [next, weight] : near[static_cast<size_t>(reached[i])])
        if (!seen[static_cast<size_t>(next)]) seen[static_cast<size_t>(next)] = 1, reached.push_back(next);
    sizes.push_back(std::ssize(reached));
    p.steps += fmt::format("From {}: {}, size {}. ", start, fmt::join(reached, ", "), reached.size());
  }
  std::sort(sizes.begin(), sizes.end());
  const bool count = r.below(2) == 1;
  p.answer = count ? std::to_string(sizes.size()) : fmt::format("{}", fmt::join(sizes, ", "));
  p.steps += count ? fmt::format("Groups: {}.", sizes.size()) : fmt::format("In order: {}.", fmt::join(sizes, ", "));
  p.question = fmt::format(
      "Places are numbered 1 to {}. Roads join {}. Two places are in one group if roads lead from one to the other, "
      "directly or "
      "through other places; a place without roads is a group of its own. {}",
      n, edges_text(edges),
      count ? "How many groups are there?" : "How many places has each group? Write the sizes from small to large.");
  p.key = fmt::format("{}: {}", n, edges_text(edges));
  return p;
}

class Components : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return components(r, difficulty); }
  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_integers(p, reply); }
};

}  // namespace

void register_components(EnvironmentRegistry& r) {
  r.add("components", "connected components of a graph: their number and sizes", std::make_unique<Components>(),
        "graphs and search");
}

}  // namespace quern::gym
