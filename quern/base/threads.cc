#include "quern/base/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <set>
#include <string>

#include "quern/base/error.h"

namespace quern {
namespace {

// Cores, not hyper-threads, among the CPUs this process may run on.
int affinity_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  std::set<std::string> cores;
  int cpus = 0;
  for (int c = 0; c < CPU_SETSIZE; ++c) {
    if (!CPU_ISSET(c, &set)) continue;
    ++cpus;
    std::ifstream f(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", c));
    std::string s;
    if (std::getline(f, s)) cores.insert(s);
  }
  return cores.empty() ? std::max(1, cpus) : static_cast<int>(cores.size());
}

std::atomic<int>& count() {
  static std::atomic<int> n{default_thread_count()};
  return n;
}

}  // namespace

double cgroup_cpu_quota() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) return std::stod(quota) / period;
  std::ifstream q1("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), p1("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double q = 0, p = 0;
  if (q1 >> q && p1 >> p && q > 0 && p > 0) return q / p;
  return 0;
}

int default_thread_count() {
  int n = affinity_cores();
  double quota = cgroup_cpu_quota();
  if (quota > 0) n = std::min(n, std::max(1, static_cast<int>(std::floor(quota + 0.01))));
  return n;
}

int thread_count() { return count().load(std::memory_order_relaxed); }

void set_thread_count(int n) {
  if (n < 1) fail("--threads {}: expected at least 1", n);
  count().store(n, std::memory_order_relaxed);
  omp_set_num_threads(n);
}

}  // namespace quern
