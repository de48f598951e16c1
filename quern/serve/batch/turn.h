// When the next line of a batch may begin although requests of clients wait: a pause after the last one that is several
// times as long as that one took, so that batches take a small share of one sequence's time.
#pragma once
#include <algorithm>
#include <chrono>

namespace quern::serve {

enum class LineStart : bool { when_free, in_turn };  // in its turn it has the priority of a client's request

struct TurnRule {
  double min_pause = 10;    // seconds
  double pause_factor = 7;  // of the time that the last line took: an eighth of one sequence's time
};

class Turn {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Turn(const TurnRule& rule) : rule_(rule) {}
  bool due(Clock::time_point now) const {
    const double pause = std::max(rule_.min_pause, rule_.pause_factor * seconds_);
    return std::chrono::duration<double>(now - ended_).count() >= pause;
  }
  void took(Clock::time_point from, Clock::time_point to) {
    seconds_ = std::chrono::duration<double>(to - from).count(), ended_ = to;
  }

 private:
  TurnRule rule_;
  Clock::time_point ended_ = Clock::now();
  double seconds_ = 0;
};

}  // namespace quern::serve
