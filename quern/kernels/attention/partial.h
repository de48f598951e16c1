// Partial attention results: what one query gathers from some of its keys, and how such results combine.
//   over keys S, scores s in units of log2:  m = max s,  l = Σ 2^(s−m),  u = Σ 2^(s−m)·v
//   (m₁,l₁,u₁) ⊕ (m₂,l₂,u₂):  m = max(m₁,m₂),  l = l₁·2^(m₁−m) + l₂·2^(m₂−m),  u likewise
//   in the end  o = u/l,  lse = ln 2·(m + log2 l)
// It is a sum (Σ 2^s, Σ 2^s·v) under a scale of its own, so ⊕ is associative; and commutative to the bit, since two
// products are added that are each rounded (no fused multiply-adds: the files that use this are compiled without).
// Chunks of the cache in one decode step, ranks and nodes are all combined by this one function.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "quern/kernels/attention/attention_simd.h"

namespace quern::kernels {

constexpr double kLog2e = 1.4426950408889634;
constexpr double kLn2 = 0.6931471805599453;

template <class T>
struct PartialRow {
  const T* u = nullptr;  // [width]
  T m = kMasked, l = 0;  // nothing seen: no guard is needed, as kMasked − kMasked is 0
};

// sum ← u of the join of n rows, of which at(i) is the i-th, from the first on; its m and l are returned.
template <class T, class At>
PartialRow<T> join_rows(int64_t n, At&& at, int64_t width, T* sum) {
  PartialRow<T> all{.u = sum};
  for (int64_t i = 0; i < n; ++i) all.m = std::max(all.m, at(i).m);
  std::fill_n(sum, width, T(0));
  for (int64_t i = 0; i < n; ++i) {
    const PartialRow<T> row = at(i);
    const T f = std::exp2(row.m - all.m);
    all.l += f * row.l;
    for (int64_t j = 0; j < width; ++j) sum[j] += f * row.u[j];
  }
  return all;
}

template <class T>
T partial_lse(T m, T l) {
  return static_cast<T>((static_cast<double>(m) + std::log2(static_cast<double>(l))) * kLn2);
}

}  // namespace quern::kernels
