// What one API key has used, and whether its limits allow one more request. Times are given, so that tests need no clock;
// the owner locks.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "quern/serve/http/http_message.h"
#include "quern/serve/limits/client_key.h"

namespace quern::serve {

// A bucket that refills evenly, a minute from empty to full. It may be overdrawn, since what a request takes is known
// when it has ended; until it is above zero again, nothing more is let in.
class TokenBucket {
 public:
  void set_capacity(int64_t per_minute, double now);  // keeps what was taken; 0: no limit
  bool limited() const { return capacity_ > 0; }
  int64_t capacity() const { return static_cast<int64_t>(capacity_); }
  double level(double now) const;
  void take(double n, double now);
  double seconds_until(double wanted, double now) const;  // that the level is so high

 private:
  double capacity_ = 0, level_ = 0, at_ = 0;
};

struct RateMoment {    // now
  double seconds = 0;  // of a clock that never goes back
  int64_t unix = 0;    // for days
};

inline constexpr const char* kUsedUp = "insufficient_quota";  // a day's budget

struct RateRefusal {
  std::string message;
  const char* code;  // rate_limit_exceeded, or kUsedUp
  double retry_seconds;
};

class KeyAccount {
 public:
  void set_limits(const KeyLimits& limits, const RateMoment& now);
  const KeyLimits& limits() const { return limits_; }
  // Counts a request that begins, or says why it may not.
  std::optional<RateRefusal> begin(const std::string& name, const RateMoment& now);
  void end() { --running_; }
  void spend(int64_t prompt, int64_t generated, const RateMoment& now);
  HttpHeaders headers(const RateMoment& now) const;  // x-ratelimit-…

  struct Totals {
    int64_t requests = 0, refused = 0, prompt_tokens = 0, generated_tokens = 0;
  };
  const Totals& all() const { return all_; }   // since the start of the server
  const Totals& today(const RateMoment& now);  // since midnight UTC
  int64_t running() const { return running_; }

 private:
  std::optional<RateRefusal> refusal(const RateMoment& now);
  KeyLimits limits_;
  TokenBucket requests_, tokens_;
  Totals all_, today_;
  int64_t day_ = 0, running_ = 0;
};

std::string duration_text(double seconds);  // "6m0s", "1.5s", "20ms": as these headers have it

}  // namespace quern::serve
