// The graph by its definition: every pair, made symmetric with its diagonal, and the threshold that connects it.
#include "quern/recall/graph/gram.h"

#include <algorithm>

#include "quern/base/disjoint_sets.h"
#include "quern/base/threads.h"
#include "quern/recall/graph/gram_edges.h"

namespace quern::recall {
SparseGraph graph_from_lower(const SparseRows& x, const GramParts& parts) {
  const size_t n = x.rows();
  const auto full = [&](size_t r) { return x.begin[r + 1] > x.begin[r]; };
  SparseGraph g;
  g.begin.assign(n + 1, 0), g.degree.resize(n);
  // Rows in ranges whose ends of edges stay in the second cache; a range looks only at what leads to its rows.
  const auto over_ranges = [&](auto&& f) { parallel_for(static_cast<int64_t>(n), 4096, f); };
  // f(row, its neighbors from b to below e), rows ascending
  const auto each_row = [&](size_t b, size_t e, auto&& f) {
    const auto before = [](const GramNeighbor& l, size_t r) { return l.to < r; };
    for (const GramPart& part : parts)
      for (size_t r = std::max(part.first, b); r < part.first + part.rows(); ++r) {
        const auto from = part.near.begin() + static_cast<std::ptrdiff_t>(part.begin[r - part.first]),
                   until = part.near.begin() + static_cast<std::ptrdiff_t>(part.begin[r - part.first + 1]);
        if (from == until) continue;
        const auto first = b == 0 ? from : std::lower_bound(from, until, b, before);
        f(r, std::span(first, r <= e ? until : std::lower_bound(first, until, e, before)));
      }
  };
  const auto each_own = [&](size_t b, size_t e, auto&& f) {
    for (const GramPart& part : parts)
      for (size_t r = std::max(part.first, b); r < std::min(e, part.first + part.rows()); ++r)
        f(r, std::span(part.near).subspan(part.begin[r - part.first],
                                          part.begin[r - part.first + 1] - part.begin[r - part.first]));
  };
  over_ranges([&](int64_t b, int64_t e) {
    const auto from = static_cast<size_t>(b), until = static_cast<size_t>(e);
    for (size_t r = from; r < until; ++r) g.begin[r + 1] = full(r) ? 1 : 0;
    each_own(from, until, [&](size_t r, std::span<const GramNeighbor> near) { g.begin[r + 1] += near.size(); });
    each_row(from, until, [&](size_t, std::span<const GramNeighbor> near) {
      for (const GramNeighbor& l : near) ++g.begin[l.to + 1];
    });
  });
  for (size_t r = 0; r < n; ++r) g.begin[r + 1] += g.begin[r];
  g.to.resize(g.begin[n]), g.weight.resize(g.begin[n]);
  over_ranges([&](int64_t b, int64_t e) {
    const auto from = static_cast<size_t>(b), until = static_cast<size_t>(e);
    std::vector<uint64_t> at(g.begin.begin() + b, g.begin.begin() + e);
    const auto put = [&](size_t r, uint32_t to, float w) {
      uint64_t& i = at[r - from];
      g.to[i] = to, g.weight[i++] = w;
    };
    // Every row's smaller neighbors, then itself, then the larger ones: ascending.
    each_own(from, until, [&](size_t r, std::span<const GramNeighbor> near) {
      for (const GramNeighbor& l : near) put(r, l.to, l.weight);
    });
    for (size_t r = from; r < until; ++r)
      if (full(r)) put(r, static_cast<uint32_t>(r), 1);
    each_row(from, until, [&](size_t r, std::span<const GramNeighbor> near) {
      for (const GramNeighbor& l : near) put(l.to, static_cast<uint32_t>(r), l.weight);
    });
    for (size_t r = from; r < until; ++r)
      for (uint64_t i = g.begin[r]; i < g.begin[r + 1]; ++i) g.degree[r] += g.weight[i];
  });
  return g;
}

float row_dot(const SparseRows& x, size_t ra, size_t rb) {
  uint64_t a = x.begin[ra], b = x.begin[rb];
  const uint64_t a_end = x.begin[ra + 1], b_end = x.begin[rb + 1];
  float sum = 0;
  while (a < a_end && b < b_end) {
    const uint32_t ca = x.column[a], cb = x.column[b];
    if (ca == cb) sum += x.value[a] * x.value[b];
    a += ca <= cb, b += cb <= ca;
  }
  return sum;
}

void SparseGraph::sum_degrees() {
  degree.assign(begin.size() - 1, 0);
  for (size_t r = 0; r < degree.size(); ++r)
    for (uint64_t i = begin[r]; i < begin[r + 1]; ++i) degree[r] += weight[i];
}

SparseGraph gram_all(const SparseRows& x, float threshold) {
  GramParts parts(1);
  for (uint32_t i = 0; i < x.rows(); ++i) {
    for (uint32_t j = 0; j < i; ++j)
      if (const float w = row_dot(x, i, j); w >= threshold) parts[0].near.push_back({j, w});
    parts[0].begin.push_back(parts[0].near.size());
  }
  return graph_from_lower(x, parts);
}

std::vector<uint32_t> components(const GraphView& g) {
  const auto n = static_cast<uint32_t>(g.size());
  DisjointSets sets(n);
  for (uint32_t r = 0; r < n; ++r)
    for (uint64_t i = g.begin[r]; i < g.begin[r + 1]; ++i) sets.join(r, g.to[i]);
  std::vector<uint32_t> minimum(n, n), of(n);
  for (uint32_t v = 0; v < n; ++v) {
    uint32_t& first = minimum[sets.root(v)];
    of[v] = first = std::min(first, v);
  }
  return of;
}

namespace {

size_t full_rows(const SparseGraph& g) {
  size_t full = 0;
  for (size_t r = 0; r < g.size(); ++r) full += g.begin[r + 1] > g.begin[r];
  return full;
}

}  // namespace

bool holds_together(const SparseGraph& g, double share) {
  const size_t full = full_rows(g);
  const double wanted = share * static_cast<double>(full);
  DisjointSets sets(g.size());
  for (uint32_t r = 0; r < g.size(); ++r)
    for (uint64_t i = g.begin[r]; i < g.begin[r + 1] && g.to[i] < r; ++i)
      if (sets.join(r, g.to[i]) >= wanted) return true;
  return full <= 1;
}

float connecting_threshold(const SparseGraph& g, float minimum, double share) {
  const double wanted = share * static_cast<double>(full_rows(g));
  // Components grow as weaker edges join: edges by falling weight in 512 classes.
  constexpr size_t kClasses = 512;
  const auto class_of = [](float w) { return std::min<size_t>(kClasses - 1, static_cast<size_t>(w * kClasses)); };
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> edges(kClasses);
  for (uint32_t r = 0; r < g.size(); ++r)
    for (uint64_t i = g.begin[r]; i < g.begin[r + 1]; ++i)
      if (g.to[i] < r) edges[class_of(g.weight[i])].emplace_back(r, g.to[i]);
  DisjointSets sets(g.size());
  for (size_t c = kClasses; c-- > 0;)
    for (const auto& [a, b] : edges[c])
      if (sets.join(a, b) >= wanted) return std::max(minimum, static_cast<float>(c) / kClasses);
  return minimum;
}

SparseGraph above_threshold(const SparseGraph& g, float threshold) {
  SparseGraph out;
  for (size_t r = 0; r < g.size(); ++r) {
    for (uint64_t i = g.begin[r]; i < g.begin[r + 1]; ++i)
      if (g.weight[i] >= threshold) out.to.push_back(g.to[i]), out.weight.push_back(g.weight[i]);
    out.begin.push_back(out.to.size());
  }
  out.sum_degrees();
  return out;
}

}  // namespace quern::recall
