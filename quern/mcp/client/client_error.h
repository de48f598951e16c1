// Why a server could not be used: not reachable, too slow, or the caller no longer waits.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "quern/base/error.h"

namespace quern::mcp {

class ClientError : public Error {
 public:
  enum class Kind { unreachable, timeout, cancelled, session_lost };
  ClientError(Kind k, const std::string& message) : Error(message), kind(k) {}
  Kind kind;
};

// Until when something is waited for.
class Until {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Until(double seconds, std::function<bool()> cancelled = {})
      : seconds_(seconds),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
        cancelled_(std::move(cancelled)) {}
  bool cancelled() const { return cancelled_ && cancelled_(); }
  bool late() const { return Clock::now() >= end_; }
  double seconds() const { return seconds_; }
  int slice_ms() const {  // how long to wait before looking again
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(left < 0 ? 0 : left > 50 ? 50 : left + 1);
  }
  void check() const {  // throws ClientError
    if (cancelled()) throw ClientError(ClientError::Kind::cancelled, "the call was cancelled");
    if (late()) throw ClientError(ClientError::Kind::timeout, fmt::format("no answer within {} s", seconds_));
  }

 private:
  double seconds_;
  Clock::time_point end_;
  std::function<bool()> cancelled_;
};

}  // namespace quern::mcp
