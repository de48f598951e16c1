#include "quern/base/read_ahead.h"

#include <algorithm>

namespace quern {
namespace {

constexpr int kCertain = 2;          // times the same again before it counts
constexpr int64_t kAhead = 2 << 20;  // bytes at most, so that what is in use stays in the caches
constexpr int64_t kPiece = 512, kLine = 64;

// What waiting threads fetch: the goal's stretches one after the other, each from its end, `next` bytes of them taken
// so far. One thread writes and others read without a lock: a mixture of two goals fetches in vain and does no other
// harm.
struct Goal {
  std::array<std::atomic<const char*>, ReadingOrder::kPlaces> end{};
  std::array<std::atomic<int64_t>, ReadingOrder::kPlaces> bytes{};
  std::atomic<int64_t> total{0};
  alignas(64) std::atomic<int64_t> next{0};
};

Goal goal;

// How much of the stretch that ends there has been fetched for the goal as it stands, it and all behind it.
int64_t fetched_from(const char* end) {
  int64_t left = std::min(goal.next.load(std::memory_order_relaxed), goal.total.load(std::memory_order_relaxed));
  for (size_t i = 0; i < goal.end.size() && left > 0; ++i) {
    if (goal.end[i].load(std::memory_order_relaxed) == end) return left;
    left -= goal.bytes[i].load(std::memory_order_relaxed);
  }
  return 0;
}

// What follows is the goal. What has been fetched of it stays fetched.
void aim(const ReadingOrder& order) {
  std::array<const char*, ReadingOrder::kPlaces> end{};
  std::array<int64_t, ReadingOrder::kPlaces> bytes{};
  int64_t total = 0;
  for (size_t n = 0, place = 0; place < end.size(); ++place) {
    const Stretch s = order.at(place);
    const int64_t part = std::min(s.bytes / 2, kAhead - total) / kPiece * kPiece;
    if (part <= 0) continue;
    total += part;
    end[n] = s.begin + s.bytes, bytes[n++] = part;
  }
  const int64_t done = total > 0 ? fetched_from(end[0]) : 0;
  goal.total.store(0, std::memory_order_relaxed);
  for (size_t i = 0; i < end.size(); ++i) {
    goal.end[i].store(end[i], std::memory_order_relaxed);
    goal.bytes[i].store(bytes[i], std::memory_order_relaxed);
  }
  goal.next.store(done, std::memory_order_relaxed);
  goal.total.store(total, std::memory_order_release);
}

}  // namespace

void ReadingOrder::follows(size_t place, Stretch s) {
  Place& p = after_[place];
  if (p.begin.load(std::memory_order_relaxed) == s.begin && p.bytes.load(std::memory_order_relaxed) == s.bytes) {
    if (int t = p.times.load(std::memory_order_relaxed); t < kCertain)
      p.times.store(t + 1, std::memory_order_relaxed);
    return;
  }
  p.times.store(0, std::memory_order_relaxed);
  p.begin.store(s.begin, std::memory_order_relaxed);
  p.bytes.store(s.bytes, std::memory_order_relaxed);
}

Stretch ReadingOrder::at(size_t place) const {
  const Place& p = after_[place];
  if (p.times.load(std::memory_order_relaxed) < kCertain) return {};
  return {p.begin.load(std::memory_order_relaxed), p.bytes.load(std::memory_order_relaxed)};
}

void reading(Stretch self, const std::shared_ptr<ReadingOrder>& order) {
  thread_local std::array<std::shared_ptr<ReadingOrder>, ReadingOrder::kPlaces> before;
  thread_local size_t at = 0;  // where the next goes; before it the last, and so on around
  for (size_t place = 0; place < before.size(); ++place)
    if (const auto& o = before[(at + before.size() - 1 - place) % before.size()]; o && o != order)
      o->follows(place, self);
  before[at] = order;
  at = (at + 1) % before.size();
  aim(*order);
}

bool fetch_ahead() {
  const int64_t total = goal.total.load(std::memory_order_acquire);
  if (goal.next.load(std::memory_order_relaxed) >= total) return false;
  int64_t from = goal.next.fetch_add(kPiece, std::memory_order_relaxed);
  for (size_t i = 0; i < goal.end.size(); ++i) {
    const int64_t bytes = goal.bytes[i].load(std::memory_order_relaxed);
    if (from >= bytes) {
      from -= bytes;
      continue;
    }
    const char* end = goal.end[i].load(std::memory_order_relaxed) - from;
    for (int64_t b = kLine; b <= kPiece; b += kLine) __builtin_prefetch(end - b, 0, 3);
    return true;
  }
  return false;
}

}  // namespace quern
