// Statistics of evaluations: pass@k of n samples, and McNemar's exact test of two evaluations of the same problems.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/base/json.h"

namespace quern::reason {

// The chance that at least one of k samples is right, when c of n were: 1 − C(n − c, k) / C(n, k), which is unbiased.
// Throws Error unless 0 ≤ c ≤ n and 1 ≤ k ≤ n.
double pass_at_k(int64_t n, int64_t c, int64_t k);
// The k that are reported: 1, 2, 4, …, and the number of samples.
std::vector<int64_t> reported_k(int64_t samples);

// Problems by whether two evaluations solved them.
struct PairedCounts {
  int64_t both = 0, only_first = 0, only_second = 0, neither = 0;
  int64_t all() const { return both + only_first + only_second + neither; }
  // The chance of a difference at least as large between equal ones: two-sided, from the binomial distribution of
  // only_first among the problems that one alone solved.
  double mcnemar() const;
  Json json() const;
  std::string text() const;  // for people
};

}  // namespace quern::reason
