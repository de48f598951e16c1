// Builds a graph from pairs of rows, shared by the all-pairs and the fast version. Edges lie below the diagonal, each
// pair once, by their larger row, in parts of consecutive rows.
#pragma once
#include <cstdint>
#include <vector>

#include "quern/recall/graph/gram.h"
#include "quern/recall/graph/gram_scan.h"

namespace quern::recall {

struct GramPart {  // the rows [first, first + begin.size() - 1)
  size_t first = 0;
  std::vector<uint64_t> begin{0};
  std::vector<GramNeighbor> near;  // of each row those before it, ascending
  size_t rows() const { return begin.size() - 1; }
};
using GramParts = std::vector<GramPart>;

// The symmetric graph of the edges, and the diagonal of rows that are not empty. In parallel over rows.
SparseGraph graph_from_lower(const SparseRows& x, const GramParts& parts);
// Σ over the columns that rows a and b share, in ascending order: every way to a weight adds in this order.
float row_dot(const SparseRows& x, size_t a, size_t b);

}  // namespace quern::recall
