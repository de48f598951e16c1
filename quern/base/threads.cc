#include "quern/base/threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/prefetch.h"

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

thread_local int this_index = 0;
thread_local bool inside = false;  // running a part: a nested call runs alone

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class Pool {
 public:
  using Body = void (*)(void*, int64_t);

  void run(int64_t parts, Body body, void* context) {
    std::unique_lock lock(one_caller_, std::try_to_lock);
    if (inside || parts == 1 || thread_count() == 1 || !lock) {
      for (int64_t p = 0; p < parts; ++p) body(context, p);
      return;
    }
    grow(thread_count() - 1);
    body_ = body;
    context_ = context;
    parts_ = parts;
    done_.store(0, std::memory_order_relaxed);
    limit_.store(thread_count(), std::memory_order_relaxed);
    error_ = nullptr;
    QUERN_CHECK(parts < int64_t{1} << kShift);
    uint64_t job = ((ticket_.load(std::memory_order_relaxed) >> kShift) + 1) & (~uint64_t{0} >> kShift);
    ticket_.store(job << kShift | static_cast<uint64_t>(parts), std::memory_order_release);
    job_.store(static_cast<uint32_t>(job), std::memory_order_release);
    job_.notify_all();
    work(job);
    for (int spins = 0;; ++spins) {
      int64_t done = done_.load(std::memory_order_acquire);
      if (done == parts) break;
      if (spins < kSpins)
        relax();
      else
        done_.wait(done, std::memory_order_acquire);
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  // Longer than the gap between two kernels of a model, shorter than a scheduler's slice: about 50 µs.
  static constexpr int kSpins = 2000;
  static constexpr int kShift = 28;  // a ticket: 36 bits of job number, and below them the parts not yet taken

  void grow(int workers) {
    while (started_ < workers) {
      int index = ++started_;
      std::thread([this, index] { serve(index); }).detach();  // they live as long as the process
    }
  }

  void serve(int index) {
    this_index = index;
    uint32_t seen = 0;
    for (;;) {
      uint32_t job = job_.load(std::memory_order_acquire);
      for (int spins = 0; job == seen && spins < kSpins; ++spins) {
        prefetch_next();
        relax();
        job = job_.load(std::memory_order_acquire);
      }
      if (job == seen) {
        job_.wait(seen, std::memory_order_acquire);
        continue;
      }
      seen = job;
      uint64_t ticket = ticket_.load(std::memory_order_acquire);
      if (static_cast<uint32_t>(ticket >> kShift) == job && index < limit_.load(std::memory_order_relaxed))
        work(ticket >> kShift);
    }
  }

  // Takes parts of this job until none is left. A part is claimed by counting the ticket down: only while its job
  // number stands may the job's fields be read, and they stay until every claimed part is done.
  void work(uint64_t job) {
    inside = true;
    for (;;) {
      uint64_t t = ticket_.load(std::memory_order_acquire);
      uint64_t left = t & ((uint64_t{1} << kShift) - 1);
      if (t >> kShift != job || left == 0) break;
      if (!ticket_.compare_exchange_weak(t, t - 1, std::memory_order_acq_rel)) continue;
      int64_t parts = parts_;
      try {
        body_(context_, parts - static_cast<int64_t>(left));
      } catch (...) {  // the caller's, once every part has ended
        std::lock_guard lock(error_mutex_);
        if (!error_) error_ = std::current_exception();
      }
      if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == parts) done_.notify_one();
    }
    inside = false;
  }

  std::mutex one_caller_;
  Body body_ = nullptr;
  void* context_ = nullptr;
  int64_t parts_ = 0;
  std::mutex error_mutex_;
  std::exception_ptr error_;  // the first that a part threw
  int started_ = 0;
  std::atomic<int> limit_{0};
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<uint32_t> job_{0};
  alignas(64) std::atomic<int64_t> done_{0};
};

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
  if (n < 1) fail("thread count {}: expected at least 1", n);
  count().store(n, std::memory_order_relaxed);
}

int thread_index() { return this_index; }

namespace {

// Never destroyed: its threads may outlive every static. A forked process has none of them, and gets a pool of its own.
std::atomic<Pool*>& pool() {
  static std::atomic<Pool*> now{[] {
    pthread_atfork(nullptr, nullptr, [] {
      this_index = 0, inside = false;
      pool().store(new Pool);
    });
    return new Pool;
  }()};
  return now;
}

}  // namespace

void run_parts(int64_t parts, void (*body)(void*, int64_t), void* context) {
  if (parts > 0) pool().load(std::memory_order_acquire)->run(parts, body, context);
}

}  // namespace quern
