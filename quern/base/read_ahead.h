// Reading ahead. Between two products over weights a step does small things on one thread, while the memory bus and
// the other threads have nothing to do: those fetch into their caches what the next products will read.
//
// What that is gets learned: every weight remembers which stretches were read after it, and offers those that have
// been the same several times. A router's experts have not; what follows them has.
//
// Threads take a product's weights from its end and the caller from its beginning (parallel_guided), so they fetch
// ends: what one core fetches another may get at more slowly than from memory.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace quern {

struct Stretch {
  const char* begin = nullptr;
  int64_t bytes = 0;
};

class ReadingOrder {  // one weight's: what is read after it
 public:
  static constexpr size_t kPlaces = 6;
  void follows(size_t place, Stretch s);  // s was read `place` products later, 0 being the next
  Stretch at(size_t place) const;         // what has been read there several times, or nothing

 private:
  struct Place {
    std::atomic<const char*> begin{nullptr};
    std::atomic<int64_t> bytes{0};
    std::atomic<int> times{0};  // the same again
  };
  std::array<Place, kPlaces> after_;
};

// A product begins to read `self`, whose order this is. Stretches may be freed at any time: they are only hinted at.
void reading(Stretch self, const std::shared_ptr<ReadingOrder>& order);

// Fetches the next few lines of what will be read. false: there is nothing left to fetch. For threads that wait, with
// a pause between two calls: hints that come faster than memory serves them are dropped.
bool fetch_ahead();

}  // namespace quern
