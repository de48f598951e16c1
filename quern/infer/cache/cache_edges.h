// What the prefix cache holds, for people: stretches of texts, of the tree in memory or of the pieces on disk.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace quern::infer {

struct CacheEdge {
  int64_t parent = -1;  // number of the edge that it continues, always a smaller one; -1: it begins a text
  std::string variant = {};
  int64_t begin = 0;  // position of tokens[0]; at most the parent's end
  std::vector<int32_t> tokens = {};
  int64_t bytes = 0;
  std::vector<int64_t> snapshots = {};  // positions of recurrent state
  int64_t hits = 0;                     // requests that used it
  double age = 0;                       // seconds since it was last used
};

}  // namespace quern::infer
