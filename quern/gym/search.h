// Search problems: a few of many possible trials, and the best of them. Two trials can be compared by reading both, so
// the best of several sampled solutions can be recognized even if most of them miss it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/rng.h"

namespace quern::gym {

struct Trial {
  std::string text = {};     // as it is tried: "3-7-1: 2 roads"
  std::string claimed = {};  // as the best that was found: "2 roads, 3-7-1"
  std::string result = {};   // what the answer would be: "2 roads"
};

struct Search {
  std::vector<Trial> tries = {};  // the better ones first; the first is the solution
  bool empty() const { return tries.empty(); }
};

constexpr size_t kTrialsShown = 3;

struct SearchWorking {
  std::string steps = {}, answer = {};
};

enum class SearchEnd { finds, misses };

// A working of three tries. Behind what others have `seen` it begins with the best try that is written there. When the
// search finds, the solution is one of the tries, in any place behind that; else it is not, unless it was seen.
SearchWorking search_working(const Search& s, Rng& r, SearchEnd end, std::string_view seen = {});

}  // namespace quern::gym
