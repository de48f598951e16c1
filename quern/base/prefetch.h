// Weight prefetching. Between two matrix multiplications a step does small work on one thread, while the memory bus
// and the other threads are idle: those prefetch into their caches what the next multiplications will read.
//
// The order is learned: every weight records which memory spans were read after it, and offers those that have been
// the same several times. A router's experts have not; what follows them has.
//
// In a multiplication, worker threads take the weights from the end and the caller from the beginning
// (parallel_guided), so they prefetch ends: what one core has cached, another may read more slowly than from memory.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace quern {

struct MemorySpan {
  const char* begin = nullptr;
  int64_t bytes = 0;
};

class PrefetchPlan {  // one weight's: what is read after it
 public:
  static constexpr size_t kSlots = 6;
  void record(size_t place, MemorySpan s);  // s was read `place` products later, 0 being the next
  MemorySpan at(size_t place) const;        // what has been read there several times, or nothing

 private:
  struct Slot {
    std::atomic<const char*> begin{nullptr};
    std::atomic<int64_t> bytes{0};
    std::atomic<int> times{0};  // the same again
  };
  std::array<Slot, kSlots> after_;
};

// A product begins to read `self`, whose order this is. Stretches may be freed at any time: they are only hinted at.
void begin_read(MemorySpan self, const std::shared_ptr<PrefetchPlan>& order);

// Fetches the next few lines of what will be read. false: there is nothing left to fetch. For threads that wait, with
// a pause between two calls: hints that come faster than memory serves them are dropped.
bool prefetch_next();

}  // namespace quern
