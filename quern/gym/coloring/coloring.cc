// Environment `coloring`: colors for d + 4 places so that no road joins two of one color; three colors, from
// difficulty 6 on sometimes four. Every such coloring is right. A place can always be set aside that has fewer roads
// to the others than there are colors, so the worked solution never has to go back.
#include <set>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/random_graph.h"

namespace quern::gym {
namespace {

constexpr std::array<std::string_view, 4> kColors = {"red", "green", "blue", "yellow"};

// Each place, in a hidden order, gets roads to fewer than `colors` earlier ones.
std::vector<GraphEdge> sparse_graph(Rng& r, int64_t n, int64_t colors) {
  std::vector<int64_t> order;
  for (int64_t i = 1; i <= n; ++i) order.push_back(i);
  shuffle(r, order);
  std::vector<GraphEdge> edges;
  for (size_t i = 1; i < order.size(); ++i) {
    std::set<size_t> to;
    for (int64_t k = 0; k < colors - 1; ++k) to.insert(r.below(i));
    for (size_t k : to) edges.push_back({std::min(order[i], order[k]), std::max(order[i], order[k]), 1});
  }
  shuffle(r, edges);
  return edges;
}

struct Worked {
  std::vector<size_t> color = {};  // of place 1, …
  std::string steps = {};
};

// Sets aside the place with the fewest neighbors left, then colors in the opposite order.
Worked color_places(const std::vector<GraphEdge>& edges, int64_t n) {
  const auto near = neighbors_of(n, edges);
  std::vector<int64_t> left(static_cast<size_t>(n) + 1), aside;
  std::set<std::pair<int64_t, int64_t>> next;  // neighbors left, place
  for (int64_t i = 1; i <= n; ++i) {
    left[static_cast<size_t>(i)] = std::ssize(near[static_cast<size_t>(i)]);
    next.emplace(left[static_cast<size_t>(i)], i);
  }
  while (!next.empty()) {
    const int64_t at = next.begin()->second;
    next.erase(next.begin());
    aside.push_back(at);
    for (const auto& [place, weight] : near[static_cast<size_t>(at)])
      if (next.erase({left[static_cast<size_t>(place)], place}) > 0)
        next.emplace(--left[static_cast<size_t>(place)], place);
  }
  Worked out{.color = std::vector<size_t>(static_cast<size_t>(n), kColors.size())};
  out.steps = fmt::format("Set aside, each with few roads left: {}. Back again:", fmt::join(aside, ", "));
  for (auto i = aside.rbegin(); i != aside.rend(); ++i) {
    std::set<size_t> taken;
    std::string names;
    for (const auto& [place, weight] : near[static_cast<size_t>(*i)]) {
      const size_t c = out.color[static_cast<size_t>(place) - 1];
      if (c < kColors.size() && taken.insert(c).second)
        names += fmt::format("{}{}", names.empty() ? "" : " or ", kColors[c]);
    }
    size_t c = 0;
    while (taken.contains(c)) ++c;
    out.color[static_cast<size_t>(*i) - 1] = c;
    out.steps += fmt::format(" {}{}{}: {}.", *i, names.empty() ? "" : " is not ", names, kColors[c]);
  }
  return out;
}

Problem coloring(Rng& r, int64_t d) {
  const int64_t n = d + 4, colors = d >= 6 && r.below(2) == 1 ? 4 : 3;
  const std::vector<GraphEdge> edges = sparse_graph(r, n, colors);
  Worked w = color_places(edges, n);
  std::vector<std::string_view> answer;
  for (size_t c : w.color) answer.push_back(kColors[c]);
  const std::vector<std::string_view> names(kColors.begin(), kColors.begin() + colors);
  Problem p{.steps = std::move(w.steps), .answer = fmt::format("{}", fmt::join(answer, ", "))};
  p.question = fmt::format(
      "Places are numbered 1 to {}. Roads join {}. Give each place one of the colors {}, so that no road joins two "
      "places "
      "of one color. Write the colors of 1, 2, 3 and so on in order, separated by commas.",
      n, edges_text(edges), fmt::join(names, ", "));
  p.key = fmt::format("{} {}", colors, edges_text(edges));
  p.facts.set("edges", edges_json(edges)), p.facts.set("places", n), p.facts.set("colors", colors);
  return p;
}

class Coloring : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return coloring(r, difficulty); }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const std::string answer = final_answer(reply);
    const auto known = kColors.begin() + p.facts.at("colors").as_int();
    const std::vector<std::string_view> colors = pieces_of(answer);
    for (std::string_view c : colors)
      if (std::find(kColors.begin(), known, c) == known) return {0, "the answer is not a list of the colors"};
    const int64_t n = p.facts.at("places").as_int();
    if (std::ssize(colors) != n) return {0, fmt::format("{} colors for {} places", colors.size(), n)};
    for (const GraphEdge& e : edges_of(p.facts.at("edges")))
      if (colors[static_cast<size_t>(e.a) - 1] == colors[static_cast<size_t>(e.b) - 1])
        return {0, fmt::format("{} and {} have one color", e.a, e.b)};
    return {1, "no road joins two places of one color"};
  }
};

}  // namespace

void register_coloring(EnvironmentRegistry& r) {
  r.add("coloring", "colors for the places of a graph, different along every road", std::make_unique<Coloring>(),
        "graphs and search");
}

}  // namespace quern::gym
