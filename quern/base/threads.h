// Thread pool. Workers spin briefly and then sleep, and any free worker takes the next part: a runtime whose barrier
// spins (libgomp's) becomes ten times slower and more as soon as another process wants a core. The default count is
// physical cores ∩ affinity ∩ cgroup quota.
#pragma once
#include <atomic>
#include <cstdint>
#include <type_traits>

namespace quern {

int default_thread_count();
int thread_count();            // threads a parallel_for uses, the caller's included
void set_thread_count(int n);  // 1 ≤ n
int thread_index();            // of the thread running this part: 0 (the caller) … thread_count() − 1
double cgroup_cpu_quota();     // cores granted by the cgroup; 0 = no limit

// Calls body(context, part) once for every part in [0, parts), on up to thread_count() threads. Called from inside a
// part, or while another thread is in here, it runs all parts itself. What a part throws is thrown here, the first of
// several, once all parts have ended.
void run_parts(int64_t parts, void (*body)(void* context, int64_t part), void* context);

// Calls body(begin, end) on disjoint ranges covering [0, n); ranges hold at least `grain` items.
// Static split: the same n, grain and thread count give the same ranges, whichever thread runs them.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& body) {
  if (n <= 0) return;
  int64_t parts = n / (grain < 1 ? 1 : grain);
  if (parts > thread_count()) parts = thread_count();
  if (parts <= 1) {
    body(int64_t{0}, n);
    return;
  }
  auto part = [&](int64_t p) { body(n * p / parts, n * (p + 1) / parts); };
  run_parts(
      parts, [](void* c, int64_t p) { (*static_cast<decltype(part)*>(c))(p); }, &part);
}

// The same with up to four ranges a thread, handed out to whoever is free: for streams of memory, which reach threads
// at different speeds.
template <class F>
void parallel_shares(int64_t n, int64_t grain, F&& body) {
  if (n <= 0) return;
  int64_t parts = n / (grain < 1 ? 1 : grain);
  if (parts > 4 * thread_count()) parts = 4 * thread_count();
  if (parts <= 1) {
    body(int64_t{0}, n);
    return;
  }
  auto part = [&](int64_t p) { body(n * p / parts, n * (p + 1) / parts); };
  run_parts(
      parts, [](void* c, int64_t p) { (*static_cast<decltype(part)*>(c))(p); }, &part);
}

// The same with ranges that shrink from half a thread's share down to single items: for streams so short that a
// thread left waiting for the last range would cost more than the breaks in the stream do. The caller takes them from
// the front and the other threads from the back, where they may have read ahead (prefetch.h). body(begin, end) of
// ≥ 1 items; n < 2³².
template <class F>
void parallel_guided(int64_t n, F&& body) {
  if (n <= 0) return;
  const int64_t threads = thread_count();
  if (threads == 1) return static_cast<void>(body(int64_t{0}, n));
  std::atomic<uint64_t> left{static_cast<uint64_t>(n)};  // first item << 32 | one past the last
  auto part = [&](int64_t) {
    uint64_t now = left.load(std::memory_order_relaxed);
    for (;;) {
      const int64_t begin = static_cast<int64_t>(now >> 32), end = static_cast<int64_t>(now & 0xffffffff);
      if (begin == end) return;
      int64_t size = (end - begin) / (2 * threads);
      if (size < 1) size = 1;
      const bool front = thread_index() == 0;
      const uint64_t rest = front ? now + (static_cast<uint64_t>(size) << 32) : now - static_cast<uint64_t>(size);
      if (!left.compare_exchange_weak(now, rest, std::memory_order_relaxed)) continue;
      front ? body(begin, begin + size) : body(end - size, end);
      now = left.load(std::memory_order_relaxed);
    }
  };
  run_parts(
      threads, [](void* c, int64_t p) { (*static_cast<decltype(part)*>(c))(p); }, &part);
}

// Calls body(i) for i in [0, n), handed out one at a time: for items of uneven cost (causal tiles).
template <class F>
void parallel_dynamic(int64_t n, F&& body) {
  using Body = std::remove_reference_t<F>;
  run_parts(
      n, [](void* c, int64_t i) { (*static_cast<Body*>(c))(i); }, const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace quern
