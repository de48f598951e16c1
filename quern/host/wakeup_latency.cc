// Measures thread wake-up latency: one cache line, written in turn by two threads that watch it.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "quern/base/threads.h"
#include "quern/host/bench.h"
#include "quern/host/host.h"

namespace quern::host {

double wakeup_ns() {
  constexpr int kRounds = 20000, kStop = -1;
  constexpr double kSeconds = 0.25;  // where both threads share a core, a round takes a scheduler's slice
  if (thread_count() < 2) return 0;
  using Clock = std::chrono::steady_clock;
  alignas(64) std::atomic<int> ball{0};  // odd: thrown, even: back
  std::thread other([&] {
    for (int next = 1;; next += 2) {
      int seen;
      while ((seen = ball.load(std::memory_order_acquire)) != next)
        if (seen == kStop) return;
      ball.store(next + 1, std::memory_order_release);
    }
  });
  std::vector<double> ns;
  const auto start = Clock::now();
  for (int round = 0; round < kRounds && Clock::now() - start < std::chrono::duration<double>(kSeconds); ++round) {
    const auto thrown = Clock::now();
    ball.store(2 * round + 1, std::memory_order_release);
    while (ball.load(std::memory_order_acquire) != 2 * round + 2) {
    }
    ns.push_back(std::chrono::duration<double, std::nano>(Clock::now() - thrown).count());
  }
  ball.store(kStop, std::memory_order_release);
  other.join();
  return median(std::move(ns));
}

}  // namespace quern::host
