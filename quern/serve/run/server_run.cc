#include "quern/serve/run/server_run.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "quern/base/error.h"
#include "quern/serve/run/service_manager.h"
#include "quern/serve/run/signals.h"
#include "quern/serve/run/watched_files.h"

namespace quern::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLookSeconds = 1;      // between two looks at the watched files
constexpr double kPartingSeconds = 10;  // for requests that were ended to write it out
constexpr double kPollSeconds = 0.05;
constexpr double kStuckSeconds = 15;  // a reading thread that is silent for so long is stuck

class RunningServer {
 public:
  RunningServer(HttpServer& server, App& app, const ServerRunOptions& options)
      : server_(server), app_(app), o_(options), files_(options.watched) {}

  void control(const std::stop_token& over) {
    manager_.ready();
    for (auto looked = Clock::now(); !over.stop_requested();) {
      const auto signal = signals_.wait(pause());
      if (signal && *signal != SIGHUP) return stop(over);
      alive();
      const bool time_to_look = Clock::now() - looked > std::chrono::duration<double>(kLookSeconds);
      if (time_to_look) looked = Clock::now();
      if (signal || (time_to_look && files_.changed())) reload();
    }
  }

 private:
  double pause() const {
    return manager_.watchdog_seconds() > 0 ? std::min(0.25, manager_.watchdog_seconds() / 4) : 0.25;
  }
  void alive() {
    if (manager_.watchdog_seconds() <= 0 || server_.silent_seconds() > kStuckSeconds) return;
    if (Clock::now() - told_ < std::chrono::duration<double>(manager_.watchdog_seconds() / 3)) return;
    told_ = Clock::now();
    manager_.alive();
  }
  void say(const std::string& line) const {
    if (o_.say) o_.say(line);
    manager_.status(line);
  }

  void reload() {
    manager_.reloading();
    files_.changed();  // what is read now need not be read again
    try {
      say(o_.reload ? o_.reload() : std::string("there is no file to read again"));
    } catch (const std::exception& e) {
      say(fmt::format("not read again, all stays as it was: {}", e.what()));
    }
    manager_.ready();
  }

  // False: a signal came meanwhile, or the server ended.
  bool wait_until_idle(double seconds, const std::stop_token& over) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (app_.busy() > 0 && Clock::now() < end) {
      alive();
      const auto signal = signals_.wait(kPollSeconds);
      if ((signal && *signal != SIGHUP) || over.stop_requested()) return false;
    }
    return true;
  }

  void stop(const std::stop_token& over) {
    manager_.stopping();
    app_.drain();
    if (const int64_t n = app_.busy(); n > 0)
      say(fmt::format("stopping: {} requests have up to {:g} s to finish; a second signal ends them at once", n,
                      o_.drain_seconds));
    if (wait_until_idle(o_.drain_seconds, over)) {
      if (const int64_t n = app_.busy(); n > 0) say(fmt::format("ending {} requests with what they have", n));
      app_.end_requests();
      wait_until_idle(kPartingSeconds, over);
    }
    server_.stop();
  }

  HttpServer& server_;
  App& app_;
  const ServerRunOptions& o_;
  Signals signals_;
  ServiceManager manager_;
  WatchedFiles files_;
  Clock::time_point told_{};
};

}  // namespace

void run_until_stopped(HttpServer& server, App& app, const ServerRunOptions& options) {
  RunningServer running(server, app, options);
  const std::jthread control([&](const std::stop_token& over) { running.control(over); });
  server.run();
}

}  // namespace quern::serve
