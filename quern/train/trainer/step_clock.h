// Seconds of the sections of a training step.
#pragma once
#include <chrono>

namespace quern {

class StepClock {
 public:
  double lap() {  // since the last lap
    const auto now = std::chrono::steady_clock::now();
    const double s = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return s;
  }
  double peek() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - last_).count(); }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace quern
