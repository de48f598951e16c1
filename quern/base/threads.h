// Threads: one OpenMP runtime. The default count is physical cores ∩ affinity ∩ cgroup quota.
#pragma once
#include <cstdint>
#include <utility>

namespace quern {

int default_thread_count();
int thread_count();               // threads a parallel_for uses
void set_thread_count(int n);     // 1 ≤ n
double cgroup_cpu_quota();        // cores granted by the cgroup; 0 = no limit

// Calls body(begin, end) on disjoint ranges covering [0, n); ranges hold at least `grain` items.
// Static split: the same n, grain and thread count give the same ranges.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& body) {
  if (n <= 0) return;
  int64_t parts = n / (grain < 1 ? 1 : grain);
  if (parts > thread_count()) parts = thread_count();
  if (parts <= 1) {
    body(int64_t{0}, n);
    return;
  }
#pragma omp parallel for num_threads(static_cast<int>(parts)) schedule(static, 1)
  for (int64_t p = 0; p < parts; ++p) body(n * p / parts, n * (p + 1) / parts);
}

// Calls body(i) for i in [0, n), handed out one at a time: for items of uneven cost (causal tiles).
template <class F>
void parallel_dynamic(int64_t n, F&& body) {
  int parts = static_cast<int>(n < thread_count() ? n : thread_count());
  if (parts <= 1) {
    for (int64_t i = 0; i < n; ++i) body(i);
    return;
  }
#pragma omp parallel for num_threads(parts) schedule(dynamic, 1)
  for (int64_t i = 0; i < n; ++i) body(i);
}

}  // namespace quern
