// Longest and shortest path problems on one-way roads: what the environments walks and routes share.
#pragma once
#include "quern/gym/problem.h"

namespace quern::gym {

enum class Best { shortest, longest };

// All ways are found and written down, and their number doubles every other difficulty: from kHardestRoads on,
// problems stay as hard.
constexpr int64_t kHardestRoads = 10;
Problem way_problem(Rng& r, int64_t difficulty, Best best);

}  // namespace quern::gym
