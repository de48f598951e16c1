// Training examples for aggregation (test-time compute): a problem, the ends of several sampled solutions, and the
// correct solution as the answer. A sampled solution is correct, or has a planted error: from some step on a number
// (or a name) is wrong, and the following steps use it. So the model learns to compare and verify solutions, not to
// count votes. Each is a function of (problem, seed).
#pragma once
#include <cstdint>
#include <string>

#include "quern/gym/problem.h"

namespace quern::reason {

struct AttemptOptions {
  int64_t count = 4;     // attempts shown
  int64_t tail = 160;    // bytes of an attempt's end that are shown, cut at a space
  double sound = 0.5;    // chance that an attempt is right
  double cut_short = 0;  // chance that what is learned of a search stops short of a solution that no attempt shows
  uint64_t seed = 0;
};
void check(const AttemptOptions& o);  // throws Error naming the field

// The working with one error that is carried on, or a search that misses.
std::string flawed_steps(const gym::Problem& p, Rng& r);
std::string aggregation_line(const gym::Problem& p, const AttemptOptions& o, uint64_t index);  // as chat_line

}  // namespace quern::reason
