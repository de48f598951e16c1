// For tests of communicators: ranks of every kind, numbers whose sums tell the order in which they were added.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "quern/base/rng.h"
#include "quern/comm/in_process.h"

namespace quern::comm {

inline Communicator* mpi_world = nullptr;  // under mpirun

inline void every_world(const std::function<void(Communicator&)>& fn) {
  if (mpi_world) return fn(*mpi_world);
  for (int n : {1, 2, 3, 4, 7}) run_ranks(n, fn, {.timeout_s = 60});
}

#define THREADS_ONLY \
  if (mpi_world) GTEST_SKIP() << "for ranks of one process"

// What rank r holds: numbers whose sum depends on the order of adding.
template <class T>
std::vector<T> values(int r, int64_t n) {
  Rng rng(17, static_cast<uint64_t>(r));
  std::vector<T> v;
  for (int64_t i = 0; i < n; ++i) {
    const double x = rng.normal() * std::pow(10.0, static_cast<double>(rng.below(8)));
    v.push_back(static_cast<T>(x));
  }
  return v;
}

template <class T>
std::vector<T> summed(int ranks, int64_t n) {  // in order of rank
  std::vector<T> s = values<T>(0, n);
  for (int r = 1; r < ranks; ++r) {
    const std::vector<T> v = values<T>(r, n);
    for (size_t i = 0; i < s.size(); ++i) s[i] += v[i];
  }
  return s;
}

template <class T>
void expect_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace quern::comm
