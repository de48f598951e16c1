// The way from pairs of rows to a graph, shared by the product over every pair and the fast one. Edges lie below the
// diagonal, each pair once, in parts: within all parts a row's edges come one after another with `to` ascending, and
// `from` ascends over the parts.
#pragma once
#include <cstdint>
#include <vector>

#include "quern/recall/gram.h"

namespace quern {

struct GramEdge {
  uint32_t from, to;  // from > to
  float weight;
};
using GramParts = std::vector<std::vector<GramEdge>>;

// The symmetric graph of the edges, and the diagonal of rows that are not empty. In parallel over rows.
SparseGraph graph_from_lower(const SparseRows& x, const GramParts& parts);
// Σ over the columns that rows a and b share, in ascending order: every way to a weight adds in this order.
float row_dot(const SparseRows& x, size_t a, size_t b);

}  // namespace quern
