// Longest and shortest path problems on one-way roads, solved by trying paths and keeping the best. Every step of a
// path is in the question, so a trial needs no sum, and comparing two takes their lengths alone.
#include "quern/gym/roads.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "quern/base/error.h"

namespace quern::gym {
namespace {

struct RoadsForm {
  size_t places, min_ways, max_ways, reach;  // reach: how far ahead a road leads
};
constexpr std::array<RoadsForm, kHardestRoads + 1> kRoads = {{{5, 4, 6, 3},
                                                              {6, 5, 8, 3},
                                                              {7, 6, 10, 3},
                                                              {9, 8, 14, 4},
                                                              {10, 10, 20, 4},
                                                              {11, 14, 28, 4},
                                                              {12, 20, 40, 4},
                                                              {13, 28, 56, 4},
                                                              {14, 40, 80, 4},
                                                              {15, 56, 112, 4},
                                                              {16, 80, 160, 4}}};

struct Roads {
  std::vector<std::pair<size_t, size_t>> roads;  // places by their order: each road leads forward
  std::vector<std::vector<size_t>> ways;         // all from the first place to the last
};

Roads roads_of(Rng& r, const RoadsForm& l) {
  Roads out;
  std::vector<std::vector<std::vector<size_t>>> ways(l.places);  // to the end, from each place
  ways[l.places - 1] = {{l.places - 1}};
  for (size_t from = l.places - 1; from-- > 0;) {
    const size_t last = std::min(l.places - 1, from + l.reach);
    std::vector<size_t> to;
    for (size_t k = from + 1; k <= last; ++k) to.push_back(k);
    for (size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[r.below(i)]);
    to.resize(std::min<size_t>(to.size(), 1 + r.below(3)));
    for (size_t t : to) {
      out.roads.emplace_back(from, t);
      for (const auto& rest : ways[t]) {
        ways[from].push_back({from});
        ways[from].back().insert(ways[from].back().end(), rest.begin(), rest.end());
      }
    }
  }
  out.ways = std::move(ways[0]);
  return out;
}

std::string counted(size_t roads) { return roads == 1 ? "1 road" : fmt::format("{} roads", roads); }

}  // namespace

Problem way_problem(Rng& r, int64_t difficulty, Best best) {
  const RoadsForm& l = kRoads[static_cast<size_t>(std::min(difficulty, kHardestRoads))];
  const bool longest = best == Best::longest;
  for (;;) {
    Roads g = roads_of(r, l);
    if (g.ways.size() < l.min_ways || g.ways.size() > l.max_ways) continue;
    std::stable_sort(g.ways.begin(), g.ways.end(), [&](const auto& a, const auto& b) {
      return longest ? a.size() > b.size() : a.size() < b.size();
    });
    if (g.ways[0].size() == g.ways[1].size()) continue;  // two are best
    std::vector<size_t> name(std::max<size_t>(l.places, 10));
    std::iota(name.begin(), name.end(), size_t{0});
    for (size_t i = name.size(); i > 1; --i) std::swap(name[i - 1], name[r.below(i)]);
    std::vector<std::string> roads;
    for (const auto& [from, to] : g.roads) roads.push_back(fmt::format("{}-{}", name[from], name[to]));
    std::sort(roads.begin(), roads.end());
    Problem p;
    p.key = fmt::format("{}", fmt::join(roads, " "));
    for (size_t i = roads.size(); i > 1; --i) std::swap(roads[i - 1], roads[r.below(i)]);
    p.question = fmt::format("One-way roads: {}. How many roads has the {} way from {} to {}?",
                             fmt::join(roads, ", "), longest ? "longest" : "shortest", name[0], name[l.places - 1]);
    for (const auto& w : g.ways) {
      std::string places;
      for (size_t k : w) places += fmt::format("{}{}", places.empty() ? "" : "-", name[k]);
      const std::string n = counted(w.size() - 1);
      p.search.tries.push_back({.text = places + ": " + n, .claimed = n + ", " + places, .result = n});
    }
    p.answer = p.search.tries[0].result;
    p.steps = search_working(p.search, r, SearchEnd::finds).steps;
    return p;
  }
}

}  // namespace quern::gym
