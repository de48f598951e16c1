// The prefix cache as one radix tree for people: what is in memory and what is on disk, merged. A node is a stretch of
// text that requests shared as a whole; stretches that follow each other without a branch, at the same place, are one.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quern/infer/cache/cache_edges.h"

namespace quern::infer {

struct CacheNode {
  int64_t begin = 0;                 // position of tokens[0] in the text
  std::vector<int32_t> tokens = {};  // empty: a root
  std::string variant = {};          // of a root
  int64_t memory_bytes = 0, disk_bytes = 0;
  bool in_memory = false, on_disk = false;
  int64_t snapshots_in_memory = 0, snapshots_on_disk = 0;
  int64_t hits = 0;  // requests that used it, of this process
  double age = 0;    // seconds since it was last used
  std::vector<std::unique_ptr<CacheNode>> children = {};
  int64_t end() const { return begin + static_cast<int64_t>(tokens.size()); }
};

// One root for each variant.
std::vector<std::unique_ptr<CacheNode>> cache_tree(const std::vector<CacheEdge>& memory,
                                                   const std::vector<CacheEdge>& disk);

}  // namespace quern::infer
