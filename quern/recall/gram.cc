#include "quern/recall/gram.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "quern/base/threads.h"

namespace quern {
namespace {

struct Edge {
  uint32_t from, to;  // from > to
  float weight;
};

// Rows from their edges below the diagonal, each pair once, plus the diagonal of rows that are not empty.
SparseGraph from_lower(const SparseRows& x, const std::vector<std::vector<Edge>>& parts) {
  const size_t n = x.rows();
  const auto full = [&](size_t r) { return x.begin[r + 1] > x.begin[r]; };
  SparseGraph g;
  g.begin.assign(n + 1, 0);
  for (const auto& part : parts)
    for (const Edge& e : part) ++g.begin[e.from + 1], ++g.begin[e.to + 1];
  for (size_t r = 0; r < n; ++r) g.begin[r + 1] += g.begin[r] + (full(r) ? 1 : 0);
  g.to.resize(g.begin[n]), g.weight.resize(g.begin[n]);
  std::vector<uint64_t> at(g.begin.begin(), g.begin.end() - 1);
  const auto put = [&](uint32_t r, uint32_t to, float w) { g.to[at[r]] = to, g.weight[at[r]++] = w; };
  // Parts and their edges ascend in `from`: first every row's smaller neighbours, then itself, then the larger ones.
  for (const auto& part : parts)
    for (const Edge& e : part) put(e.from, e.to, e.weight);
  for (uint32_t r = 0; r < n; ++r)
    if (full(r)) put(r, r, 1);
  for (const auto& part : parts)
    for (const Edge& e : part) put(e.to, e.from, e.weight);
  g.sum_degrees();
  return g;
}

float dot(const SparseRows& x, uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end) {
  float sum = 0;
  while (a < a_end && b < b_end) {
    const uint32_t ca = x.column[a], cb = x.column[b];
    if (ca == cb) sum += x.value[a] * x.value[b];
    a += ca <= cb, b += cb <= ca;
  }
  return sum;
}

struct PairIndex {  // the rows by column
  std::vector<uint64_t> begin;
  std::vector<uint32_t> row;
  std::vector<float> value;
  std::vector<uint64_t> prefix_end;  // a row's, an index into x: what follows are common terms of norm suffix_norm
  std::vector<float> suffix_norm;
  std::vector<float> common_norm;  // of a row's common terms
};

PairIndex index_pairs(const SparseRows& x, const GramOptions& o, GramStats& stats) {
  PairIndex p;
  const size_t n = x.rows();
  p.prefix_end.resize(n), p.suffix_norm.resize(n), p.common_norm.resize(n);
  p.begin.assign(x.columns + 1, 0);
  for (const uint32_t c : x.column) ++p.begin[c + 1];
  const auto common = [&, least = n / 128 + 8](uint32_t c) { return p.begin[c + 1] > least; };
  for (size_t r = 0; r < n; ++r) {
    float square = 0, all = 0;
    for (uint64_t i = x.begin[r]; i < x.begin[r + 1]; ++i)
      if (common(x.column[i])) all += x.value[i] * x.value[i];
    uint64_t end = x.begin[r + 1];
    while (end > x.begin[r] && common(x.column[end - 1])) {
      const float next = square + x.value[end - 1] * x.value[end - 1];
      if (next >= 0.99f * o.threshold * o.threshold) break;
      square = next, --end;
    }
    p.prefix_end[r] = end;
    p.suffix_norm[r] = std::sqrt(square) * 1.0001f, p.common_norm[r] = std::sqrt(all) * 1.0001f;
  }
  // Rows that look a column up: those with it in their prefix.
  std::vector<uint32_t> asked(x.columns), by_cost;
  for (size_t r = 0; r < n; ++r)
    for (uint64_t i = x.begin[r]; i < p.prefix_end[r]; ++i) ++asked[x.column[i]];
  const auto cost = [&](uint32_t c) { return uint64_t{asked[c]} * p.begin[c + 1]; };
  for (uint32_t c = 0; c < x.columns; ++c)
    if (asked[c] > 0 && p.begin[c + 1] > 1) by_cost.push_back(c);
  std::stable_sort(by_cost.begin(), by_cost.end(), [&](uint32_t a, uint32_t b) { return cost(a) < cost(b); });
  double work = 0;
  std::vector<bool> kept(x.columns);
  for (const uint32_t c : by_cost) {
    work += static_cast<double>(cost(c)) / 2;
    kept[c] = work <= static_cast<double>(o.most_work);
    stats.terms_passed_over += !kept[c];
  }
  for (size_t c = 0; c < x.columns; ++c) p.begin[c + 1] = p.begin[c] + (kept[c] ? p.begin[c + 1] : 0);
  p.row.resize(p.begin[x.columns]), p.value.resize(p.row.size());
  std::vector<uint64_t> at(p.begin.begin(), p.begin.end() - 1);
  for (uint32_t r = 0; r < n; ++r)
    for (uint64_t i = x.begin[r]; i < x.begin[r + 1]; ++i)
      if (const uint32_t c = x.column[i]; kept[c]) p.row[at[c]] = r, p.value[at[c]++] = x.value[i];
  return p;
}

struct Scratch {
  std::vector<float> sum;
  std::vector<uint32_t> touched;
};

void compare_row(const SparseRows& x, const PairIndex& p, uint32_t r, const GramOptions& o, Scratch& s,
                 std::vector<Edge>& out, GramStats& stats) {
  s.touched.clear();
  for (uint64_t i = x.begin[r]; i < p.prefix_end[r]; ++i) {
    const uint32_t c = x.column[i];
    const float v = x.value[i];
    for (uint64_t k = p.begin[c]; k < p.begin[c + 1] && p.row[k] < r; ++k) {
      float& sum = s.sum[p.row[k]];
      if (sum == 0) s.touched.push_back(p.row[k]);
      sum += v * p.value[k];
    }
  }
  std::erase_if(s.touched, [&](uint32_t j) {
    // What the sum lacks is r's suffix with j's common terms.
    const bool out_of_reach = s.sum[j] * 1.0001f + p.suffix_norm[r] * p.common_norm[j] < o.threshold;
    s.sum[j] = 0;
    return out_of_reach;
  });
  std::sort(s.touched.begin(), s.touched.end());
  stats.pairs_compared += static_cast<int64_t>(s.touched.size());
  const size_t before = out.size();
  for (const uint32_t j : s.touched) {
    const float w = dot(x, x.begin[r], x.begin[r + 1], x.begin[j], x.begin[j + 1]);
    if (w >= o.threshold) out.push_back({r, j, w});
  }
  if (out.size() - before <= o.most_neighbours) return;
  // Bounds what is held at any time, however alike the rows are.
  ++stats.rows_cut;
  const auto first = out.begin() + static_cast<std::ptrdiff_t>(before);
  std::nth_element(first, first + o.most_neighbours, out.end(), [](const Edge& a, const Edge& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.to < b.to;
  });
  out.resize(before + o.most_neighbours);
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(),
            [](const Edge& a, const Edge& b) { return a.to < b.to; });
}

// An edge goes when neither of its ends counts it among its strongest; among equals the first met stay.
void cut_rows(size_t rows, std::vector<std::vector<Edge>>& parts, uint32_t most, GramStats& stats) {
  std::vector<uint32_t> count(rows), slots(rows, most);
  for (const auto& part : parts)
    for (const Edge& e : part) ++count[e.from], ++count[e.to];
  if (std::none_of(count.begin(), count.end(), [&](uint32_t c) { return c > most; })) return;
  std::vector<std::vector<float>> weights(rows);
  for (const auto& part : parts)
    for (const Edge& e : part)
      for (const uint32_t end : {e.from, e.to})
        if (count[end] > most) weights[end].push_back(e.weight);
  std::vector<float> least(rows, 0);
  for (size_t r = 0; r < rows; ++r) {
    if (count[r] <= most) continue;
    ++stats.rows_cut;
    std::nth_element(weights[r].begin(), weights[r].begin() + (most - 1), weights[r].end(), std::greater<>());
    least[r] = weights[r][most - 1];
    for (const float w : weights[r]) slots[r] -= w > least[r];
  }
  for (auto& part : parts)
    std::erase_if(part, [&](const Edge& e) {
      bool keep = false;
      for (const uint32_t end : {e.from, e.to}) {
        if (count[end] <= most || e.weight > least[end]) {
          keep = true;
        } else if (e.weight == least[end] && slots[end] > 0) {
          --slots[end], keep = true;
        }
      }
      return !keep;
    });
}

}  // namespace

void SparseGraph::sum_degrees() {
  degree.assign(begin.size() - 1, 0);
  for (size_t r = 0; r < degree.size(); ++r)
    for (uint64_t i = begin[r]; i < begin[r + 1]; ++i) degree[r] += weight[i];
}

SparseGraph gram_all(const SparseRows& x, float threshold) {
  std::vector<std::vector<Edge>> parts(1);
  for (uint32_t i = 0; i < x.rows(); ++i)
    for (uint32_t j = 0; j < i; ++j) {
      const float w = dot(x, x.begin[i], x.begin[i + 1], x.begin[j], x.begin[j + 1]);
      if (w >= threshold) parts[0].push_back({i, j, w});
    }
  return from_lower(x, parts);
}

SparseGraph gram_pruned(const SparseRows& x, const GramOptions& o, GramStats* given) {
  if (!(o.threshold > 0 && o.threshold <= 1))
    fail("graph: threshold {}, expected above 0 and at most 1", o.threshold);
  if (o.most_neighbours < 1) fail("graph: most_neighbours = 0, expected 1 or more");
  GramStats stats;
  const PairIndex p = index_pairs(x, o, stats);
  constexpr int64_t kRows = 2048;
  const int64_t n = static_cast<int64_t>(x.rows()), blocks = (n + kRows - 1) / kRows;
  std::vector<std::vector<Edge>> parts(static_cast<size_t>(blocks));
  std::vector<Scratch> scratch(static_cast<size_t>(thread_count()));
  std::mutex mutex;
  parallel_dynamic(blocks, [&](int64_t b) {
    Scratch& s = scratch[static_cast<size_t>(thread_index())];
    if (s.sum.empty()) s.sum.resize(x.rows());
    GramStats mine;
    for (int64_t r = b * kRows; r < std::min(n, (b + 1) * kRows); ++r)
      compare_row(x, p, static_cast<uint32_t>(r), o, s, parts[static_cast<size_t>(b)], mine);
    std::lock_guard lock(mutex);
    stats.pairs_compared += mine.pairs_compared, stats.rows_cut += mine.rows_cut;
  });
  cut_rows(x.rows(), parts, o.most_neighbours, stats);
  if (given) *given = stats;
  return from_lower(x, parts);
}

std::vector<uint32_t> components(const GraphView& g) {
  std::vector<uint32_t> parent(g.size());
  std::iota(parent.begin(), parent.end(), 0u);
  const auto root = [&](uint32_t v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  for (uint32_t r = 0; r < g.size(); ++r)
    for (uint64_t i = g.begin[r]; i < g.begin[r + 1]; ++i) {
      const uint32_t a = root(r), b = root(g.to[i]);
      a < b ? parent[b] = a : parent[a] = b;
    }
  for (uint32_t v = 0; v < g.size(); ++v) parent[v] = root(v);
  return parent;
}

float connecting_threshold(const SparseGraph& g, float least, double share) {
  size_t full = 0;
  for (size_t r = 0; r < g.size(); ++r) full += g.begin[r + 1] > g.begin[r];
  const double wanted = share * static_cast<double>(full);
  // Components grow as weaker edges join: edges by falling weight in 512 classes.
  constexpr size_t kClasses = 512;
  const auto class_of = [](float w) { return std::min<size_t>(kClasses - 1, static_cast<size_t>(w * kClasses)); };
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> edges(kClasses);
  for (uint32_t r = 0; r < g.size(); ++r)
    for (uint64_t i = g.begin[r]; i < g.begin[r + 1]; ++i)
      if (g.to[i] < r) edges[class_of(g.weight[i])].emplace_back(r, g.to[i]);
  std::vector<uint32_t> parent(g.size()), size(g.size(), 1);
  std::iota(parent.begin(), parent.end(), 0u);
  const auto root = [&](uint32_t v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  for (size_t c = kClasses; c-- > 0;)
    for (const auto& [a, b] : edges[c]) {
      uint32_t x = root(a), y = root(b);
      if (x == y) continue;
      if (size[x] < size[y]) std::swap(x, y);
      parent[y] = x, size[x] += size[y];
      if (size[x] >= wanted) return std::max(least, static_cast<float>(c) / kClasses);
    }
  return least;
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

}  // namespace quern
