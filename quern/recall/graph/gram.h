// Similarity graph of chunks: S = X Xᵀ of unit rows, kept where s ≥ threshold, symmetric with its diagonal. gram_all
// compares every pair: the definition. gram_pruned adds up only what can be above zero, row by row over the postings
// of its terms, in the definition's order, hence with its bits. Sums are held for a tile of 6144 rows (gram_tiles.h),
// which stay in the first-level cache, while 2048 rows pass it; a row with few postings keeps a list instead. Limits,
// which are counted:
//   terms are taken from cheap to expensive while the sums stay within `max_work`; the others add no pair
//                                                                   → GramStats::terms_skipped
//   a row keeps its `max_neighbors` strongest among the rows before it, and what later rows keep
//                                                                   → GramStats::rows_cut
// Cost: Σ df² / 2 additions of half a nanosecond, and a scan of 4 n² / 2 bytes at the first-level cache's speed where
// rows are dense; in parallel over rows; the same result with any number of threads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/recall/bm25/embed.h"

namespace quern::recall {

struct GraphView {  // compressed rows; a mapped segment or a SparseGraph
  std::span<const uint64_t> begin;
  std::span<const uint32_t> to;
  std::span<const float> weight;
  std::span<const double> degree;  // sum of a row's weights
  float loop = 0;                  // what every row that is not empty weighs for itself; 0: to be looked up
  size_t size() const { return degree.size(); }
};

struct SparseGraph {
  std::vector<uint64_t> begin{0};
  std::vector<uint32_t> to;
  std::vector<float> weight;
  std::vector<double> degree;
  size_t size() const { return degree.size(); }
  GraphView view() const { return {begin, to, weight, degree}; }
  void sum_degrees();
};

struct GramOptions {
  float threshold = 0.1f;
  int64_t max_work = 4'000'000'000;
  uint32_t max_neighbors = 32;
};
struct GramStats {
  int64_t products = 0, terms_skipped = 0, rows_cut = 0;
};

SparseGraph gram_all(const SparseRows& x, float threshold);
SparseGraph gram_pruned(const SparseRows& x, const GramOptions& options, GramStats* stats = nullptr);

// Does one component hold `share` of the rows that are not empty?
bool holds_together(const SparseGraph& graph, double share = 0.8);
// The largest threshold ≥ `least` at which one component still holds `share` of the rows that are not empty; `least`
// when there is none.
float connecting_threshold(const SparseGraph& graph, float minimum, double share = 0.8);
SparseGraph above_threshold(const SparseGraph& graph, float threshold);
std::vector<uint32_t> components(const GraphView& graph);  // node → the smallest node of its component

}  // namespace quern::recall
