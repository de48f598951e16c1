#include "quern/base/prefetch.h"

#include <algorithm>

#include "quern/base/threads.h"

namespace quern {
namespace {

constexpr int kCertain = 2;          // times the same again before it counts
constexpr int64_t kAhead = 2 << 20;  // bytes at most, so that what is in use stays in the caches
constexpr int64_t kPiece = 512, kLine = 64;

// The last bytes of stretches, in the order in which they will be read.
struct Ends {
  std::array<const char*, PrefetchPlan::kSlots> end{};
  std::array<int64_t, PrefetchPlan::kSlots> bytes{};
  int64_t total = 0;
};

// What waiting threads fetch. One thread writes and others copy without a lock: a mixture of two goals fetches in
// vain and does no other harm. Who waits reads no more than the version, over and over.
struct Goal {
  alignas(64) std::atomic<uint32_t> version{0};
  std::array<std::atomic<const char*>, PrefetchPlan::kSlots> end{};
  std::array<std::atomic<int64_t>, PrefetchPlan::kSlots> bytes{};
};

Goal goal;

// What follows is the goal.
void aim(const PrefetchPlan& order) {
  Ends e;
  for (size_t n = 0, place = 0; place < e.end.size(); ++place) {
    const MemorySpan s = order.at(place);
    const int64_t part = std::min(s.bytes / 2, kAhead - e.total) / kPiece * kPiece;
    if (part <= 0) continue;
    e.total += part;
    e.end[n] = s.begin + s.bytes, e.bytes[n++] = part;
  }
  for (size_t i = 0; i < e.end.size(); ++i) {
    goal.end[i].store(e.end[i], std::memory_order_relaxed);
    goal.bytes[i].store(e.bytes[i], std::memory_order_relaxed);
  }
  goal.version.store(goal.version.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

class Fetcher {  // one thread's
 public:
  bool some() {
    if (const uint32_t v = goal.version.load(std::memory_order_acquire); v != version_) take(v);
    const int64_t every = std::max(1, thread_count() - 1);  // the other waiting threads fetch the pieces between
    if (next_ >= ends_.total) return false;
    int64_t from = next_;
    next_ += every * kPiece;
    for (size_t i = 0; i < ends_.end.size(); ++i) {
      if (from < ends_.bytes[i]) {
        for (int64_t b = kLine; b <= kPiece; b += kLine) __builtin_prefetch(ends_.end[i] - from - b, 0, 3);
        return true;
      }
      from -= ends_.bytes[i];
    }
    return false;
  }

 private:
  // The goal has changed. What has been fetched of it stays fetched.
  void take(uint32_t version) {
    Ends now;
    for (size_t i = 0; i < now.end.size(); ++i) {
      now.end[i] = goal.end[i].load(std::memory_order_relaxed);
      now.bytes[i] = goal.bytes[i].load(std::memory_order_relaxed);
      now.total += now.bytes[i];
    }
    int64_t done = std::min(next_, ends_.total);
    for (size_t i = 0; i < ends_.end.size() && done > 0 && ends_.end[i] != now.end[0]; ++i) done -= ends_.bytes[i];
    next_ = done > 0 ? done : std::max(0, thread_index() - 1) * kPiece;
    ends_ = now;
    version_ = version;
  }

  Ends ends_;
  int64_t next_ = 0;
  uint32_t version_ = 0;
};

}  // namespace

void PrefetchPlan::record(size_t place, MemorySpan s) {
  Slot& p = after_[place];
  if (p.begin.load(std::memory_order_relaxed) == s.begin && p.bytes.load(std::memory_order_relaxed) == s.bytes) {
    if (int t = p.times.load(std::memory_order_relaxed); t < kCertain)
      p.times.store(t + 1, std::memory_order_relaxed);
    return;
  }
  p.times.store(0, std::memory_order_relaxed);
  p.begin.store(s.begin, std::memory_order_relaxed);
  p.bytes.store(s.bytes, std::memory_order_relaxed);
}

MemorySpan PrefetchPlan::at(size_t place) const {
  const Slot& p = after_[place];
  if (p.times.load(std::memory_order_relaxed) < kCertain) return {};
  return {p.begin.load(std::memory_order_relaxed), p.bytes.load(std::memory_order_relaxed)};
}

void begin_read(MemorySpan self, const std::shared_ptr<PrefetchPlan>& order) {
  thread_local std::array<std::shared_ptr<PrefetchPlan>, PrefetchPlan::kSlots> before;
  thread_local size_t at = 0;  // where the next goes; before it the last, and so on around
  for (size_t place = 0; place < before.size(); ++place)
    if (const auto& o = before[(at + before.size() - 1 - place) % before.size()]; o && o != order)
      o->record(place, self);
  before[at] = order;
  at = (at + 1) % before.size();
  aim(*order);
}

bool prefetch_next() {
  thread_local Fetcher fetcher;
  return fetcher.some();
}

}  // namespace quern
