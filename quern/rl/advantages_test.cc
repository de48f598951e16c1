// Advantages against their definitions, MaxRL's gradient against the closed form it estimates, and the gates of the
// length bonus.
#include "quern/rl/advantages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern::rl {
namespace {

using Values = std::vector<double>;

TEST(Advantages, ClosedForms) {
  const Values r = {1, 0, 0, 1, 0, 0, 0, 0};  // mean 1/4
  const Values maxrl = advantages("maxrl", r), grpo = advantages("grpo", r), centered = advantages("centered", r),
               rloo = advantages("rloo", r);
  EXPECT_NEAR(maxrl[0], 3, 1e-4);
  EXPECT_NEAR(maxrl[1], -1, 1e-4);
  const double deviation = std::sqrt((2 * 0.5625 + 6 * 0.0625) / 7);
  EXPECT_NEAR(grpo[0], 0.75 / deviation, 1e-4);
  EXPECT_NEAR(centered[0], 0.75, 1e-12);
  EXPECT_NEAR(rloo[0], 1 - 1.0 / 7, 1e-12);
  EXPECT_NEAR(rloo[1], -2.0 / 7, 1e-12);
  for (const Values& a : {maxrl, grpo, centered, rloo})
    EXPECT_NEAR(std::accumulate(a.begin(), a.end(), 0.0), 0, 1e-9);
}

TEST(Advantages, EqualRewardsTeachNothing) {
  for (const char* kind : {"maxrl", "grpo", "centered", "rloo"})
    for (double r : {0.0, 0.3, 1.0}) EXPECT_EQ(advantages(kind, Values(6, r)), Values(6, 0));
  EXPECT_FALSE(has_signal(Values{1, 1}));
  EXPECT_TRUE(has_signal(Values{1, 0.5}));
  EXPECT_THROW(advantages("best", Values{0, 1}), Error);
}

// A policy that succeeds with probability p = sigmoid(θ). With groups of G, MaxRL's estimate Σ_i A_i·∇log π(i) / G has
// the expectation ∇ Σ_{k ≤ G} −(1 − p)^k / k: log p up to order G, less what the mean's own noise takes (order G alone).
TEST(Advantages, MaxRlEstimatesTheLogOfTheSuccess) {
  constexpr int64_t kGroup = 8, kGroups = 200000;
  for (double p : {0.1, 0.3, 0.7}) {
    Rng rng(11);
    double sum = 0, squares = 0;
    for (int64_t g = 0; g < kGroups; ++g) {
      Values r(kGroup);
      for (double& x : r) x = rng.uniform() < p ? 1 : 0;
      const Values a = advantages("maxrl", r);
      double estimate = 0;
      for (size_t i = 0; i < r.size(); ++i) estimate += a[i] * (r[i] - p) / kGroup;  // ∇_θ log π = r − p
      sum += estimate, squares += estimate * estimate;
    }
    const double mean = sum / kGroups, error = std::sqrt((squares / kGroups - mean * mean) / kGroups);
    // E over K successes of [K > 0 and K < G]: (1/G)·Σ_i (r_i − m)/m·(r_i − p) = 1 − m, with m = K / G.
    double expected = 0;
    for (int64_t k = 1; k <= kGroup; ++k) {
      const double ways = std::exp(std::lgamma(kGroup + 1) - std::lgamma(k + 1) - std::lgamma(kGroup - k + 1));
      expected += ways * std::pow(p, k) * std::pow(1 - p, kGroup - k) * (1 - static_cast<double>(k) / kGroup);
    }
    EXPECT_NEAR(mean, expected, 3 * error + 1e-5) << p;
    // That is the gradient of the truncated log-likelihood of order G − 1, Σ_{k < G} (1 − p)^(k − 1) · p(1 − p):
    double series = 0;
    for (int64_t k = 1; k < kGroup; ++k) series += std::pow(1 - p, k - 1);
    EXPECT_NEAR(expected, series * p * (1 - p), 1e-9) << p;
  }
}

TEST(LengthBonus, GatesAndRange) {
  const LengthBonus b{{.weight = 0.4, .margin = 0.05, .tolerance = 10}, 110};
  const Values r = {1, 1, 1, 0};
  const std::vector<int64_t> tokens = {10, 20, 110, 5};
  const Values bonus = b.of(r, tokens, 0.75);
  const double most = 0.4 * 0.75;
  EXPECT_DOUBLE_EQ(bonus[0], most / 2);
  EXPECT_DOUBLE_EQ(bonus[1], most / 2) << "within the tolerance";
  EXPECT_DOUBLE_EQ(bonus[2], -most / 2);
  EXPECT_EQ(bonus[3], 0) << "a wrong answer";
  const Values one = {1, 0, 0, 0};
  EXPECT_EQ(b.of(one, tokens, 0.25), Values(4, 0)) << "a single right answer";
  EXPECT_EQ(b.of(r, tokens, 0.9), Values(4, 0)) << "far below the environment's best";
  EXPECT_EQ((LengthBonus{{.weight = 0}, 110}.of(r, tokens, 0.75)), Values(4, 0));
  // Only the numerator changes: the mean stays that of the task's rewards.
  const Values a = advantages("maxrl", r, bonus), plain = advantages("maxrl", r);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(a[i] - plain[i], bonus[i] / 0.75, 1e-5);
  for (const char* kind : {"maxrl", "grpo", "centered"})  // all right, of unequal length
    EXPECT_NEAR(advantages(kind, Values{1, 1}, Values{0.1, -0.1})[0], 0.1, 1e-6) << kind;
}

}  // namespace
}  // namespace quern::rl
