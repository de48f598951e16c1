// Limits of a key by the clock: requests and tokens per minute, days, places.
#include "quern/serve/limits/key_account.h"

#include <gtest/gtest.h>

#include <map>

namespace quern::serve {
namespace {

constexpr int64_t kMidnight = 20'000 * int64_t{86'400};
RateMoment at(double seconds) { return {1000 + seconds, kMidnight + static_cast<int64_t>(seconds)}; }

std::string refused(KeyAccount& a, double seconds) {
  const auto why = a.begin("ci", at(seconds));
  return why ? why->message : "";
}

std::map<std::string, std::string> headers(const KeyAccount& a, double seconds) {
  const HttpHeaders list = a.headers(at(seconds));
  return {list.begin(), list.end()};
}

TEST(TokenBucket, RefillsInAMinuteAndMayBeOverdrawn) {
  TokenBucket b;
  EXPECT_FALSE(b.limited());
  b.set_capacity(60, 0);
  EXPECT_EQ(b.level(0), 60);
  b.take(90, 0);
  EXPECT_EQ(b.level(0), -30);
  EXPECT_EQ(b.level(10), -20);
  EXPECT_EQ(b.seconds_until(1, 10), 21);
  EXPECT_EQ(b.level(1000), 60);
  b.take(10, 1000);
  b.set_capacity(120, 1000);
  EXPECT_EQ(b.level(1000), 110) << "what was taken stays taken";
}

TEST(KeyAccount, RequestsPerMinute) {
  KeyAccount a;
  a.set_limits({.requests_per_minute = 3}, at(0));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(refused(a, 0), "");
  const auto why = a.begin("ci", at(0));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->message, "API key 'ci': 3 requests per minute are used up; try again in 20s");
  EXPECT_STREQ(why->code, "rate_limit_exceeded");
  EXPECT_NEAR(why->retry_seconds, 20, 1e-9);
  EXPECT_EQ(refused(a, 20.001), "");
  EXPECT_NE(refused(a, 20.002), "");
  const auto h = headers(a, 20.001);
  EXPECT_EQ(h.at("x-ratelimit-limit-requests"), "3");
  EXPECT_EQ(h.at("x-ratelimit-remaining-requests"), "0");
  EXPECT_EQ(h.at("x-ratelimit-reset-requests"), "59.999s");
  EXPECT_FALSE(h.contains("x-ratelimit-limit-tokens"));
  EXPECT_EQ(a.all().requests, 4);
  EXPECT_EQ(a.all().refused, 2);
}

TEST(KeyAccount, TokensPerMinuteAreChargedAfterwards) {
  KeyAccount a;
  a.set_limits({.tokens_per_minute = 600}, at(0));
  EXPECT_EQ(refused(a, 0), "");
  a.spend(100, 0, at(0));
  EXPECT_EQ(headers(a, 0).at("x-ratelimit-remaining-tokens"), "500");
  EXPECT_EQ(headers(a, 0).at("x-ratelimit-reset-tokens"), "10s");
  a.spend(0, 800, at(0));  // 300 more than there were
  EXPECT_EQ(headers(a, 0).at("x-ratelimit-remaining-tokens"), "0");
  EXPECT_EQ(refused(a, 0), "API key 'ci': 600 tokens per minute are used up; try again in 30.100s");
  EXPECT_EQ(refused(a, 30.2), "");
}

TEST(KeyAccount, ADayBeginsAtMidnight) {
  KeyAccount a;
  a.set_limits({.tokens_per_day = 1000}, at(0));
  EXPECT_EQ(refused(a, 100), "");
  a.spend(400, 600, at(100));
  const auto why = a.begin("ci", at(400));
  ASSERT_TRUE(why);
  EXPECT_STREQ(why->code, "insufficient_quota");
  EXPECT_EQ(why->retry_seconds, 86'000);
  EXPECT_EQ(refused(a, 86'400), "");
  EXPECT_EQ(a.today(at(86'400)).prompt_tokens, 0);
  EXPECT_EQ(a.all().prompt_tokens, 400);
}

TEST(KeyAccount, PlacesAreGivenBack) {
  KeyAccount a;
  a.set_limits({.concurrent = 2}, at(0));
  EXPECT_EQ(refused(a, 0) + refused(a, 0), "");
  EXPECT_EQ(refused(a, 0), "API key 'ci': 2 requests are in flight, the maximum");
  a.end();
  EXPECT_EQ(refused(a, 0), "");
}

TEST(DurationText, IsAsTheHeadersHaveIt) {
  EXPECT_EQ(duration_text(0), "0ms");
  EXPECT_EQ(duration_text(0.02), "20ms");
  EXPECT_EQ(duration_text(1), "1s");
  EXPECT_EQ(duration_text(1.5), "1.500s");
  EXPECT_EQ(duration_text(360), "6m0s");
  EXPECT_EQ(duration_text(59.9999), "1m0s");
}

}  // namespace
}  // namespace quern::serve
