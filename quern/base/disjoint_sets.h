// Union-find: which set a node is in, and joining two sets. Near-constant cost per operation (the smaller set goes
// under the larger, with path halving).
#pragma once
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace quern {

class DisjointSets {
 public:
  explicit DisjointSets(size_t n) : parent_(n), size_(n, 1) { std::iota(parent_.begin(), parent_.end(), 0u); }
  uint32_t root(uint32_t v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }
  uint32_t join(uint32_t a, uint32_t b) {  // → how many nodes are together now
    a = root(a), b = root(b);
    if (size_[a] < size_[b]) std::swap(a, b);
    if (a != b) parent_[b] = a, size_[a] += size_[b];
    return size_[a];
  }

 private:
  std::vector<uint32_t> parent_, size_;
};

}  // namespace quern
