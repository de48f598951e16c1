// Fast S = X Xᵀ above a threshold: see gram.h. Every sum is Σ x_c y_c over ascending columns c, one multiplication and
// one addition each, as in row_dot: what is found needs no verification unless the limit left terms out.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "quern/base/threads.h"
#include "quern/recall/graph/gram_add.h"
#include "quern/recall/graph/gram_edges.h"
#include "quern/recall/graph/gram_scan.h"
#include "quern/recall/graph/gram_tiles.h"

namespace quern::recall {
namespace {

constexpr uint32_t kWidth = GramTiles::kWidth;
constexpr size_t kRows = 2048;  // that go past the tiles together, so that a tile stays in the second cache
static_assert(kWidth % kRows == 0, "rows that go together have one tile of their own");
constexpr size_t kFew = 64;      // products that are sorted instead of spread
constexpr size_t kSparse = 160;  // of a row with a tile: fewer products than a scan has vectors

constexpr size_t kLevels = 32;  // of weights, to tell a row's strongest without sorting them

struct ColumnIndex {                // the rows by column
  std::vector<uint32_t> documents;  // rows of a column
  std::vector<bool> kept;           // columns that open pairs; empty: all
  std::vector<uint64_t> begin;
  std::vector<uint32_t> row;
  std::vector<float> value;
  std::vector<float> passed_norm;  // a row's, of the columns that are left out; empty when none is
  float max_passed = 0;
};

// Columns from cheap to dear while the work allows them.
std::vector<bool> kept_columns(const std::vector<uint32_t>& documents, const GramOptions& o, GramStats& stats) {
  const auto cost = [&](uint32_t c) { return 0.5 * documents[c] * documents[c]; };
  std::vector<uint32_t> by_cost(documents.size());
  for (uint32_t c = 0; c < by_cost.size(); ++c) by_cost[c] = c;
  std::stable_sort(by_cost.begin(), by_cost.end(), [&](uint32_t a, uint32_t b) { return cost(a) < cost(b); });
  std::vector<bool> kept(documents.size());
  double work = 0;
  for (const uint32_t c : by_cost) {
    work += cost(c);
    kept[c] = work <= static_cast<double>(o.max_work);
    stats.terms_skipped += documents[c] > 1 && !kept[c];
  }
  return kept;
}

ColumnIndex index_columns(const SparseRows& x, const GramOptions& o, GramStats& stats) {
  ColumnIndex p;
  const size_t n = x.rows();
  std::vector<uint32_t>& documents = p.documents;
  documents.resize(x.columns);
  for (const uint32_t c : x.column) ++documents[c];
  double work = 0;
  for (const uint32_t d : documents) work += 0.5 * d * d;
  const bool all = work <= static_cast<double>(o.max_work);
  if (!all) p.kept = kept_columns(documents, o, stats);
  const auto has = [&](uint32_t c) { return all || p.kept[c]; };
  p.begin.resize(x.columns + 1);
  for (uint32_t c = 0; c < x.columns; ++c) p.begin[c + 1] = p.begin[c] + (has(c) ? documents[c] : 0);
  p.row.resize(p.begin[x.columns]), p.value.resize(p.row.size());
  // Each thread fills a range of columns: they are met in the order of rows.
  const auto parts = static_cast<uint64_t>(thread_count());
  std::vector<uint32_t> cut(parts + 1, static_cast<uint32_t>(x.columns));
  for (uint64_t i = 0; i < parts; ++i)
    cut[i] = static_cast<uint32_t>(std::lower_bound(p.begin.begin(), p.begin.end(), p.row.size() * i / parts) -
                                   p.begin.begin());
  cut[0] = 0;
  parallel_dynamic(static_cast<int64_t>(parts), [&](int64_t part) {
    const uint32_t first = cut[static_cast<size_t>(part)], last = cut[static_cast<size_t>(part) + 1];
    if (first >= last) return;
    std::vector<uint64_t> at(p.begin.begin() + first, p.begin.begin() + last);
    for (uint32_t r = 0; r < n; ++r)
      for (uint64_t i = x.begin[r]; i < x.begin[r + 1]; ++i) {
        const uint32_t c = x.column[i];
        if (c - first >= last - first || !has(c)) continue;
        uint64_t& k = at[c - first];
        p.row[k] = r, p.value[k++] = x.value[i];
      }
  });
  if (all) return p;
  p.passed_norm.resize(n);
  for (size_t r = 0; r < n; ++r) {
    float square = 0;
    for (uint64_t i = x.begin[r]; i < x.begin[r + 1]; ++i)
      if (!has(x.column[i])) square += x.value[i] * x.value[i];
    p.passed_norm[r] = std::sqrt(square) * 1.0001f;
    p.max_passed = std::max(p.max_passed, p.passed_norm[r]);
  }
  return p;
}

struct DenseRow {
  uint32_t row;
  size_t terms, others;  // where its own end
};

// What a thread keeps between blocks of rows.
struct Scratch {
  std::vector<float> sums, spread;
  std::vector<uint32_t> touched;
  std::vector<GramNeighbor> few, found, strong;
  std::vector<std::vector<GramNeighbor>> near;        // a row of the block
  std::vector<std::array<uint32_t, kLevels>> levels;  // how many of them have which weight
  std::vector<uint32_t> counted;                      // how many of them are in the levels
  std::vector<float> bound;                           // of a row that has enough: what a further one must reach
  std::vector<DenseRow> dense;                        // rows that go past the tiles
  std::vector<GramTerm> terms;                        // theirs that are laid out
  std::vector<GramNeighbor> others;                   // products by the other ones
  std::vector<uint32_t> until;                        // in their own tile: the entries that lie before them
  int64_t products = 0, rows_cut = 0;
};

class BlockOfRows {
 public:
  BlockOfRows(const SparseRows& x, const ColumnIndex& p, const GramTiles& tiles, const GramOptions& o, Scratch& s,
              size_t first, size_t end)
      : x_(x), p_(p), tiles_(tiles), o_(o), s_(s), first_(first), end_(end), scan_(gram_scan()), add_(gram_add()) {
    s.near.resize(kRows), s.bound.assign(kRows, o.threshold);
    for (auto& list : s.near) list.clear();
    s.levels.resize(kRows), s.counted.assign(kRows, 0);
  }
  void run(GramPart& out) {
    s_.dense.clear(), s_.terms.clear(), s_.others.clear();
    for (size_t r = first_; r < end_; ++r) {
      uint64_t products = 0;
      for (uint64_t i = x_.begin[r]; i < x_.begin[r + 1]; ++i) {
        const uint32_t c = x_.column[i];
        if (i + 32 < x_.column.size()) __builtin_prefetch(&p_.begin[x_.column[i + 32]]);
        if (i + 16 < x_.column.size())
          __builtin_prefetch(&p_.row[std::min(p_.begin[x_.column[i + 16]], max_entry())]);
        products += p_.begin[c + 1] - p_.begin[c];
      }
      if (products <= kFew) {
        few_products(r);
      } else if (128 * products < r || tiles_.empty()) {
        spread_products(r);
      } else {
        take_dense(static_cast<uint32_t>(r));
      }
    }
    if (!s_.dense.empty()) dense_rows();
    out.first = first_;
    for (size_t r = first_; r < end_; ++r) {
      keep_strongest(r);
      out.begin.push_back(out.begin.back() + near(r).size());
    }
    out.near.reserve(out.begin.back());
    for (size_t r = first_; r < end_; ++r) out.near.insert(out.near.end(), near(r).begin(), near(r).end());
  }

 private:
  uint64_t max_entry() const { return p_.row.empty() ? 0 : p_.row.size() - 1; }
  std::vector<GramNeighbor>& near(size_t r) { return s_.near[r - first_]; }

  // Weights from the threshold to one in steps.
  size_t level_of(float weight) const {
    return std::min<size_t>(kLevels - 1, static_cast<size_t>(std::max(0.f, (weight - o_.threshold) * kLevels)));
  }
  // The lowest level that a row's strongest reach down to; 0 while there are not too many.
  size_t cut_level(size_t r) const {
    const auto& levels = s_.levels[r - first_];
    uint64_t reached = 0;
    for (size_t l = kLevels; l-- > 0;)
      if ((reached += levels[l]) >= o_.max_neighbors) return l;
    return 0;
  }
  void count_levels(size_t r) {
    auto& levels = s_.levels[r - first_];
    uint32_t& counted = s_.counted[r - first_];
    if (counted == 0) levels.fill(0);
    for (; counted < near(r).size(); ++counted) ++levels[level_of(near(r)[counted].weight)];
  }
  // Below the level that the strongest so far reach down to nothing can stay.
  void raise_bound(size_t r) {
    if (near(r).size() < o_.max_neighbors) return;
    count_levels(r);
    const float level = static_cast<float>(cut_level(r)) / kLevels + o_.threshold;
    s_.bound[r - first_] = std::max(o_.threshold, level * (1 - 1e-5f));  // levels round, and so does this
  }

  // Only the strongest stay, of equals the first, in their order.
  void keep_strongest(size_t r) {
    auto& list = near(r);
    if (list.size() <= o_.max_neighbors) return;
    ++s_.rows_cut;
    raise_bound(r);
    const auto keep = [&](auto&& stays) {  // without a branch: no machine foresees it
      size_t kept = 0;
      for (const GramNeighbor n : list) list[kept] = n, kept += stays(n);
      list.resize(kept);
    };
    keep([minimum = s_.bound[r - first_]](const GramNeighbor& n) { return n.weight >= minimum; });
    s_.strong = list;
    const auto last = s_.strong.begin() + (static_cast<std::ptrdiff_t>(o_.max_neighbors) - 1);
    std::nth_element(s_.strong.begin(), last, s_.strong.end(), [](const GramNeighbor& a, const GramNeighbor& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.to < b.to;
    });
    keep([weakest = *last](const GramNeighbor& n) {
      return (n.weight > weakest.weight) | ((n.weight == weakest.weight) & (n.to <= weakest.to));
    });
  }

  // The least sum that can be an edge of r's, and what it comes to with the terms that were left out.
  float reach(size_t r) const {
    const float minimum = s_.bound[r - first_];
    if (p_.passed_norm.empty()) return minimum;
    return std::max(1e-30f, (minimum - p_.passed_norm[r] * p_.max_passed) / 1.0001f);
  }
  void offer(size_t r, uint32_t j, float sum) {
    if (!p_.passed_norm.empty()) sum = row_dot(x_, r, j);
    if (sum >= s_.bound[r - first_]) near(r).push_back({j, sum});
  }

  void few_products(size_t r) {
    s_.few.clear();
    for (uint64_t i = x_.begin[r]; i < x_.begin[r + 1]; ++i)
      for (uint64_t k = p_.begin[x_.column[i]]; k < p_.begin[x_.column[i] + 1] && p_.row[k] < r; ++k) {
        const GramNeighbor n{p_.row[k], x_.value[i] * p_.value[k]};
        s_.few.push_back(n);
        size_t at = s_.few.size() - 1;  // sorted as they come: equal rows in the order of columns
        for (; at > 0 && s_.few[at - 1].to > n.to; --at) s_.few[at] = s_.few[at - 1];
        s_.few[at] = n;
      }
    s_.products += static_cast<int64_t>(s_.few.size());
    const float minimum = reach(r);
    for (size_t i = 0; i < s_.few.size();) {
      float sum = 0;
      const uint32_t j = s_.few[i].to;
      for (; i < s_.few.size() && s_.few[i].to == j; ++i) sum += s_.few[i].weight;
      if (sum >= minimum) offer(r, j, sum);
    }
  }

  void spread_products(size_t r) {
    s_.spread.resize(x_.rows());
    s_.touched.clear();
    for (uint64_t i = x_.begin[r]; i < x_.begin[r + 1]; ++i)
      for (uint64_t k = p_.begin[x_.column[i]]; k < p_.begin[x_.column[i] + 1] && p_.row[k] < r; ++k) {
        float& sum = s_.spread[p_.row[k]];
        if (sum == 0) s_.touched.push_back(p_.row[k]);
        sum += x_.value[i] * p_.value[k];
        ++s_.products;
      }
    std::sort(s_.touched.begin(), s_.touched.end());
    const float minimum = reach(r);
    for (const uint32_t j : s_.touched) {
      const float sum = std::exchange(s_.spread[j], 0.f);  // a row touched twice is zero the second time
      if (sum >= minimum) offer(r, j, sum);
    }
  }

  void take_dense(uint32_t r) {
    for (uint64_t i = x_.begin[r]; i < x_.begin[r + 1]; ++i) {
      const uint32_t c = x_.column[i];
      if (c >= tiles_.first_column()) {
        s_.terms.push_back({c - tiles_.first_column(), x_.value[i]});
      } else {
        for (uint64_t k = p_.begin[c]; k < p_.begin[c + 1] && p_.row[k] < r; ++k)
          s_.others.push_back({p_.row[k], x_.value[i] * p_.value[k]});
      }
    }
    s_.dense.push_back({r, s_.terms.size(), s_.others.size()});
  }

  void dense_rows() {
    s_.terms.resize(s_.terms.size() + kGramAhead, {0, 0.f});
    s_.sums.resize(kWidth), s_.found.resize(kWidth);
    const size_t own = first_ / kWidth;
    for (size_t t = 0; t <= own; ++t) {
      const GramTile& tile = tiles_[t];
      if (t == own) s_.until.assign(tile.begin.begin(), tile.begin.end());
      const GramRuns runs{tile.begin.data(), t == own ? s_.until.data() : tile.begin.data() + 1, tile.place.data(),
                          tile.value.data()};
      size_t term = 0, other = 0;
      for (const DenseRow& d : s_.dense) {
        const std::span terms(s_.terms.data() + term, s_.terms.data() + d.terms);
        const std::span others(s_.others.data() + other, s_.others.data() + d.others);
        term = d.terms, other = d.others;
        const auto begin = static_cast<uint32_t>(t * kWidth);
        if (d.row <= begin) continue;
        if (t == own)  // up to its own entry
          for (const GramTerm& w : terms)
            for (uint32_t& k = s_.until[w.number]; k < tile.begin[w.number + 1] && tile.place[k] < d.row - begin;)
              ++k;
        one_row(d.row, begin, terms, others, runs);
      }
    }
  }

  // What the scan does, by walking the entries again instead of all sums.
  size_t collect(std::span<const GramTerm> terms, std::span<const GramNeighbor> others, const GramRuns& runs,
                 float minimum, uint32_t begin) {
    size_t n = 0;
    const auto take = [&](uint32_t place) {
      const float sum = std::exchange(s_.sums[place], 0.f);  // zero the second time
      if (sum >= minimum) s_.found[n++] = {begin + place, sum};
    };
    for (const GramTerm& w : terms)
      for (uint32_t k = runs.from[w.number]; k < runs.until[w.number]; ++k) take(runs.place[k]);
    for (const GramNeighbor& w : others)
      if (w.to - begin < kWidth) take(w.to - begin);
    std::sort(s_.found.begin(), s_.found.begin() + static_cast<std::ptrdiff_t>(n),
              [](const GramNeighbor& a, const GramNeighbor& b) { return a.to < b.to; });
    return n;
  }

  void one_row(uint32_t r, uint32_t begin, std::span<const GramTerm> terms, std::span<const GramNeighbor> others,
               const GramRuns& runs) {
    __builtin_prefetch(near(r).data() + near(r).size(), 1);
    size_t products = 0;
    for (const GramNeighbor& w : others)  // rarer, so their columns come first
      if (w.to - begin < kWidth) s_.sums[w.to - begin] += w.weight, ++products;
    products += add_(s_.sums.data(), terms, runs);
    if (products == 0) return;
    s_.products += static_cast<int64_t>(products);
    const uint32_t live = std::min(kWidth, r - begin);
    const size_t found = products < kSparse
                             ? collect(terms, others, runs, reach(r), begin)
                             : scan_(std::span(s_.sums).first((live + 63) / 64 * 64), live, reach(r), begin,
                                     s_.found.data());  // behind the row itself nothing was added
    if (p_.passed_norm.empty()) {
      near(r).insert(near(r).end(), s_.found.data(), s_.found.data() + found);
    } else {
      for (size_t i = 0; i < found; ++i) offer(r, s_.found[i].to, s_.found[i].weight);
    }
    if (found > 0) raise_bound(r);
  }

  const SparseRows& x_;
  const ColumnIndex& p_;
  const GramTiles& tiles_;
  const GramOptions& o_;
  Scratch& s_;
  size_t first_, end_;
  GramScan scan_;
  GramAdd add_;
};

}  // namespace

SparseGraph gram_pruned(const SparseRows& x, const GramOptions& o, GramStats* given) {
  if (!(o.threshold > 0 && o.threshold <= 1))
    fail("graph: threshold {}, expected above 0 and at most 1", o.threshold);
  if (o.max_neighbors < 1) fail("graph: max_neighbors = 0, expected 1 or more");
  GramStats stats;
  const ColumnIndex p = index_columns(x, o, stats);
  const GramTiles tiles(x, p.documents, p.kept);
  const size_t n = x.rows(), blocks = (n + kRows - 1) / kRows;
  GramParts parts(blocks);
  std::vector<Scratch> scratch(static_cast<size_t>(thread_count()));
  parallel_dynamic(static_cast<int64_t>(blocks), [&](int64_t i) {
    const size_t b = blocks - 1 - static_cast<size_t>(i);  // the last rows have most before them
    BlockOfRows(x, p, tiles, o, scratch[static_cast<size_t>(thread_index())], b * kRows, std::min(n, (b + 1) * kRows))
        .run(parts[b]);
  });
  for (const Scratch& s : scratch) stats.products += s.products, stats.rows_cut += s.rows_cut;
  if (given) *given = stats;
  return graph_from_lower(x, parts);
}

}  // namespace quern::recall
