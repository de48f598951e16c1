// Tells a person at a terminal what they wait for: nothing in the first second, then a line on stderr that is rewritten
// until the object goes. Without a terminal it says nothing.
//
//   WaitLine wait([&](double s) { return fmt::format("loading {}  {:.0f} s", name, s); });
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "apps/quern/cli/progress.h"

namespace quern::cli {

class WaitLine {
 public:
  // `text` is called on another thread with the seconds since the beginning.
  explicit WaitLine(std::function<std::string(double)> text) : text_(std::move(text)) {
    if (line_.terminal()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  void end() {  // before something else is written
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
    line_.clear();
  }
  ~WaitLine() { end(); }
  WaitLine(const WaitLine&) = delete;
  WaitLine& operator=(const WaitLine&) = delete;

 private:
  void run(const std::stop_token& stop) {
    using namespace std::chrono_literals;
    const auto begun = std::chrono::steady_clock::now();
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any wake;
    for (auto wait = 1000ms; !wake.wait_for(lock, stop, wait, [] { return false; }) && !stop.stop_requested();
         wait = 250ms)
      line_.show(text_(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()));
  }

  std::function<std::string(double)> text_;
  LiveLine line_;
  std::jthread thread_;
};

}  // namespace quern::cli
