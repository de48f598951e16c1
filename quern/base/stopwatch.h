// Elapsed wall-clock time.
#pragma once
#include <chrono>
#include <utility>

namespace quern {

// Seconds of a clock that never goes back; its zero means nothing.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Stopwatch {
 public:
  double seconds() const {  // since it was made, or since the last lap
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  double lap() {  // the same, and begins again
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(begin_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

template <class F>
double seconds_of(F&& work) {
  const Stopwatch watch;
  work();
  return watch.seconds();
}

}  // namespace quern
