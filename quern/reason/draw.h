// Which of several attempts are shown or kept.
#pragma once
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "quern/base/rng.h"

namespace quern::reason {

// `count` of the numbers 0 to n − 1, each at most once.
inline std::vector<int64_t> draw(Rng& r, int64_t n, int64_t count) {
  std::vector<int64_t> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t j = i + static_cast<int64_t>(r.below(static_cast<uint64_t>(n - i)));
    std::swap(all[static_cast<size_t>(i)], all[static_cast<size_t>(j)]);
  }
  all.resize(static_cast<size_t>(count));
  return all;
}

}  // namespace quern::reason
