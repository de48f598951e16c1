// Random undirected graphs with places 1 to n and weighted edges, each pair at most once, and their written form.
#pragma once
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {

struct GraphEdge {
  int64_t a = 0, b = 0, weight = 1;  // a < b
  bool operator==(const GraphEdge&) const = default;
};

// A tree over all places (`edges` = n - 1) and more edges, in random order. Fewer than asked for where chance gives
// the same pair again.
inline std::vector<GraphEdge> connected_graph(Rng& r, int64_t n, int64_t edges, int64_t max_weight) {
  std::vector<int64_t> order;
  for (int64_t i = 1; i <= n; ++i) order.push_back(i);
  shuffle(r, order);
  std::set<std::pair<int64_t, int64_t>> seen;
  std::vector<GraphEdge> out;
  const auto join = [&](int64_t a, int64_t b) {
    if (a > b) std::swap(a, b);
    if (a != b && seen.emplace(a, b).second) out.push_back({a, b, between(r, 1, max_weight)});
  };
  for (int64_t i = 1; i < n; ++i) join(order[static_cast<size_t>(i)], order[r.below(static_cast<uint64_t>(i))]);
  for (int64_t i = n - 1; i < edges; ++i) join(between(r, 1, n), between(r, 1, n));
  shuffle(r, out);
  return out;
}

inline std::string edges_text(const std::vector<GraphEdge>& edges) {  // "1-2, 2-3"
  std::string s;
  for (const GraphEdge& e : edges) s += fmt::format("{}{}-{}", s.empty() ? "" : ", ", e.a, e.b);
  return s;
}

inline std::string weighted_edges_text(const std::vector<GraphEdge>& edges) {  // "1-2: 4, 2-3: 1"
  std::string s;
  for (const GraphEdge& e : edges) s += fmt::format("{}{}-{}: {}", s.empty() ? "" : ", ", e.a, e.b, e.weight);
  return s;
}

inline Json edges_json(const std::vector<GraphEdge>& edges) {  // [a, b, weight, …]
  Json::Array flat;
  flat.reserve(3 * edges.size());
  for (const GraphEdge& e : edges) flat.emplace_back(e.a), flat.emplace_back(e.b), flat.emplace_back(e.weight);
  return Json(std::move(flat));
}

inline std::vector<GraphEdge> edges_of(const Json& flat) {
  const Json::Array& v = flat.as_array();
  std::vector<GraphEdge> out;
  for (size_t i = 0; i + 2 < v.size(); i += 3) out.push_back({v[i].as_int(), v[i + 1].as_int(), v[i + 2].as_int()});
  return out;
}

// Per place 1 to n, its neighbors in rising order with the weights; [0] is empty.
inline std::vector<std::vector<std::pair<int64_t, int64_t>>> neighbors_of(int64_t n,
                                                                          const std::vector<GraphEdge>& edges) {
  std::vector<std::vector<std::pair<int64_t, int64_t>>> out(static_cast<size_t>(n) + 1);
  for (const GraphEdge& e : edges) {
    out[static_cast<size_t>(e.a)].emplace_back(e.b, e.weight);
    out[static_cast<size_t>(e.b)].emplace_back(e.a, e.weight);
  }
  for (auto& v : out) std::sort(v.begin(), v.end());
  return out;
}

}  // namespace quern::gym
