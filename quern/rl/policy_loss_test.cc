// The policy losses: the truth table of the masks, slopes against finite differences, what staleness 0 means.
#include "quern/rl/policy_loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/error.h"

namespace quern::rl {
namespace {

train::PolicyLossConfig config(const std::string& kind) {
  train::PolicyLossConfig c;
  c.kind = kind;
  return c;
}

TEST(PolicyLoss, DppoMasksWhatHasMovedFarEnoughInItsDirection) {
  struct Case {
    double sampled, current, advantage;
    bool masked, both_sides;
  };
  const Case cases[] = {
      {0.5, 0.7, 1, true, true},    // up, and it should go up: enough
      {0.5, 0.7, -1, false, true},  // up, but it should go down
      {0.5, 0.3, -1, true, true},    {0.5, 0.3, 1, false, true},     {0.5, 0.55, 1, false, false},
      {0.5, 0.45, -1, false, false}, {0.001, 0.09, 1, false, false},  // a ratio of 90 is no reason
      {0.5, 0.3, 0, true, true},
  };
  PolicyLoss one(config("dppo"));
  train::PolicyLossConfig c = config("dppo");
  c.two_sided = true;
  const PolicyLoss two(c);
  for (const Case& x : cases) {
    const PolicyToken t{std::log(x.sampled), x.advantage, 0};
    EXPECT_EQ(one.masked(t, std::log(x.current)), x.masked) << x.sampled << " " << x.current << " " << x.advantage;
    EXPECT_EQ(two.masked(t, std::log(x.current)), x.both_sides)
        << x.sampled << " " << x.current << " " << x.advantage;
    if (x.masked) {
      EXPECT_EQ(one(t, std::log(x.current), std::log(x.current)).slope, 0);
    }
  }
}

TEST(PolicyLoss, KlMaskIsTheBinaryDivergence) {
  train::PolicyLossConfig c = config("dppo_kl");
  const double q = 0.2, p = 0.4, kl = q * std::log(q / p) + (1 - q) * std::log((1 - q) / (1 - p));
  c.delta = kl * 0.99;
  EXPECT_TRUE(PolicyLoss(c).masked({std::log(q), 1, 0}, std::log(p)));
  EXPECT_FALSE(PolicyLoss(c).masked({std::log(q), -1, 0}, std::log(p)));
  c.delta = kl * 1.01;
  EXPECT_FALSE(PolicyLoss(c).masked({std::log(q), 1, 0}, std::log(p)));
}

TEST(PolicyLoss, PpoClipsTheRatio) {
  const PolicyLoss ppo(config("ppo"));
  const auto masked = [&](double ratio, double a) { return ppo.masked({-2, a, 0}, -2 + std::log(ratio)); };
  EXPECT_TRUE(masked(1.3, 1));
  EXPECT_FALSE(masked(1.27, 1));
  EXPECT_FALSE(masked(1.3, -1));
  EXPECT_TRUE(masked(0.79, -1));
  EXPECT_FALSE(masked(0.79, 1));
}

// Where nothing is cut, masked or held fixed, the slope is the derivative of the loss.
TEST(PolicyLoss, SlopesAreDerivatives) {
  constexpr double h = 1e-6;
  for (const char* kind : {"reinforce", "ppo", "importance", "dppo"})
    for (double kl : {0.0, 0.3})
      for (double a : {1.5, -0.7})
        for (double logp : {-1.0, -1.05, -0.95}) {
          train::PolicyLossConfig c = config(kind);
          c.kl = kl;
          const PolicyLoss loss(c);
          const PolicyToken t{-1, a, -1.2};
          const double numeric = (loss(t, logp + h, logp + h).loss - loss(t, logp - h, logp - h).loss) / (2 * h);
          EXPECT_NEAR(loss(t, logp, logp).slope, numeric, 1e-6) << kind << " " << kl << " " << a << " " << logp;
        }
}

TEST(PolicyLoss, AtStalenessZeroAllAreTheSameGradient) {
  for (const char* kind : {"reinforce", "ppo", "importance", "dppo", "dppo_kl"}) {
    const PolicyLoss loss(config(kind));
    const double sampled = -0.73;
    EXPECT_FALSE(loss.masked({sampled, 2, 0}, sampled));
    EXPECT_EQ(loss({sampled, 2, 0}, sampled + 1e-4, sampled).slope, -2) << kind << ": the ratio is 1, to the bit";
  }
}

TEST(PolicyLoss, RatiosAreCut) {
  const PolicyLoss loss(config("importance"));
  EXPECT_EQ(loss({-9, 1, 0}, -1, -1).slope, -10);
  EXPECT_THROW(loss_kind("best"), Error);
}

}  // namespace
}  // namespace quern::rl
