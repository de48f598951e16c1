#include "quern/serve/limits/key_account.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace quern::serve {
namespace {

constexpr int64_t kDay = 86'400;
constexpr double kRetryBusy = 1;  // seconds until a place of a key may be free

}  // namespace

void TokenBucket::set_capacity(int64_t per_minute, double now) {
  const double taken = limited() ? capacity_ - level(now) : 0;
  capacity_ = static_cast<double>(per_minute), level_ = capacity_ - taken, at_ = now;
}

double TokenBucket::level(double now) const { return std::min(capacity_, level_ + (now - at_) * capacity_ / 60); }

void TokenBucket::take(double n, double now) { level_ = level(now) - n, at_ = now; }

double TokenBucket::seconds_until(double wanted, double now) const {
  return limited() ? std::max(0.0, (wanted - level(now)) * 60 / capacity_) : 0;
}

void KeyAccount::set_limits(const KeyLimits& limits, const RateMoment& now) {
  limits_ = limits;
  requests_.set_capacity(limits.requests_per_minute, now.seconds);
  tokens_.set_capacity(limits.tokens_per_minute, now.seconds);
}

const KeyAccount::Totals& KeyAccount::today(const RateMoment& now) {
  if (const int64_t day = now.unix / kDay; day != day_) day_ = day, today_ = {};
  return today_;
}

std::optional<RateRefusal> KeyAccount::refusal(const RateMoment& now) {
  const Totals& day = today(now);
  if (limits_.tokens_per_day > 0 && day.prompt_tokens + day.generated_tokens >= limits_.tokens_per_day)
    return RateRefusal{fmt::format("the budget of {} tokens per day is used up; it is renewed at midnight UTC",
                                   limits_.tokens_per_day),
                       kUsedUp, static_cast<double>(kDay - now.unix % kDay)};
  if (limits_.concurrent > 0 && running_ >= limits_.concurrent)
    return RateRefusal{fmt::format("{} requests are in flight, the maximum", running_), "rate_limit_exceeded",
                       kRetryBusy};
  const auto used_up = [&](const TokenBucket& b, double wanted, const char* what) {
    const double wait = b.seconds_until(wanted, now.seconds);
    return RateRefusal{
        fmt::format("{} {} per minute are used up; try again in {}", b.capacity(), what, duration_text(wait)),
        "rate_limit_exceeded", wait};
  };
  if (requests_.limited() && requests_.level(now.seconds) < 1) return used_up(requests_, 1, "requests");
  if (tokens_.limited() && tokens_.level(now.seconds) < 1) return used_up(tokens_, 1, "tokens");
  return std::nullopt;
}

std::optional<RateRefusal> KeyAccount::begin(const std::string& name, const RateMoment& now) {
  if (auto why = refusal(now)) {
    ++all_.refused, ++today_.refused;
    why->message = fmt::format("API key '{}': {}", name, why->message);
    return why;
  }
  ++all_.requests, ++today_.requests, ++running_;
  if (requests_.limited()) requests_.take(1, now.seconds);
  return std::nullopt;
}

void KeyAccount::spend(int64_t prompt, int64_t generated, const RateMoment& now) {
  today(now);
  for (Totals* t : {&all_, &today_}) t->prompt_tokens += prompt, t->generated_tokens += generated;
  if (tokens_.limited()) tokens_.take(static_cast<double>(prompt + generated), now.seconds);
}

HttpHeaders KeyAccount::headers(const RateMoment& now) const {
  HttpHeaders out;
  const auto add = [&](const TokenBucket& b, const char* what) {
    if (!b.limited()) return;
    const auto left = static_cast<int64_t>(std::max(0.0, std::floor(b.level(now.seconds))));
    out.emplace_back(fmt::format("x-ratelimit-limit-{}", what), fmt::format("{}", b.capacity()));
    out.emplace_back(fmt::format("x-ratelimit-remaining-{}", what), fmt::format("{}", left));
    out.emplace_back(fmt::format("x-ratelimit-reset-{}", what),
                     duration_text(b.seconds_until(static_cast<double>(b.capacity()), now.seconds)));
  };
  add(requests_, "requests"), add(tokens_, "tokens");
  return out;
}

std::string duration_text(double seconds) {
  const auto ms = static_cast<int64_t>(std::ceil(1000 * std::max(0.0, seconds) - 1e-6));
  if (ms < 1000) return fmt::format("{}ms", ms);
  const int64_t minutes = ms / 60'000, rest = ms % 60'000;
  const std::string tail =
      rest % 1000 == 0 ? fmt::format("{}s", rest / 1000) : fmt::format("{}.{:03}s", rest / 1000, rest % 1000);
  return minutes > 0 ? fmt::format("{}m{}", minutes, tail) : tail;
}

}  // namespace quern::serve
