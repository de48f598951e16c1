#include "quern/measure/time_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/rng.h"

namespace quern::measure {
namespace {

std::vector<TransferTime> times_of(double latency, double bandwidth, double noise, double disturbed, uint64_t seed) {
  std::vector<TransferTime> times;
  Rng rng(seed);
  for (double bytes = 8; bytes <= 1 << 26; bytes *= 2) {
    double t = (latency + bytes / bandwidth) * std::exp(noise * rng.normal());
    if (rng.uniform() < disturbed) t *= 2 + 8 * rng.uniform();
    times.push_back({bytes, t});
  }
  return times;
}

TEST(FitLink, ExactTimesGiveExactNumbers) {
  for (const auto& [latency, bandwidth] : {std::pair{1e-6, 1e10}, {2e-3, 12.5e6}, {50e-6, 1e8}}) {
    const LinkFit fit = fit_link(times_of(latency, bandwidth, 0, 0, 1));
    EXPECT_NEAR(fit.link.latency_s / latency, 1, 1e-6);
    EXPECT_NEAR(fit.link.bytes_per_s / bandwidth, 1, 1e-6);
    EXPECT_LT(fit.deviation, 1e-6);
    EXPECT_NEAR(fit.saturation_bytes() / (19 * latency * bandwidth), 1, 1e-6);
  }
}

// Every sixth time is two to ten times too long, as beside other work, and all have 5 % of noise.
TEST(FitLink, DisturbedTimesDoNotMoveIt) {
  double worst = 0, squares = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto times = times_of(20e-6, 2e9, 0.05, 1.0 / 6, seed);
    const LinkFit fit = fit_link(times);
    worst = std::max({worst, std::abs(fit.link.latency_s / 20e-6 - 1), std::abs(fit.link.bytes_per_s / 2e9 - 1)});
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;  // what plain least squares would say of the latency
    for (const TransferTime& t : times)
      n += 1, x += t.bytes, y += t.seconds, xx += t.bytes * t.bytes, xy += t.bytes * t.seconds;
    squares = std::max(squares, std::abs((y - x * (n * xy - x * y) / (n * xx - x * x)) / n / 20e-6 - 1));
  }
  EXPECT_LT(worst, 0.15);
  EXPECT_GT(squares, 1);  // or the test could not tell the methods apart
}

TEST(FitLink, TimesThatDoNotGrowAreLatencyAlone) {
  const LinkFit fit = fit_link(std::vector<TransferTime>{{8, 1e-5}, {16, 1e-5}, {32, 1e-5}});
  EXPECT_NEAR(fit.link.latency_s, 1e-5, 1e-9);
  EXPECT_GT(fit.link.bytes_per_s, 1e12);
}

TEST(FitTimes, CostsOfThreeKindsAndNoneBelowZero) {
  std::vector<std::vector<double>> amounts;
  std::vector<double> seconds;
  Rng rng(3);
  for (int i = 0; i < 120; ++i) {
    const double flops = std::pow(10, 3 + 7 * rng.uniform()), bytes = std::pow(10, 2 + 6 * rng.uniform());
    amounts.push_back({1, flops, bytes, -1 / flops});
    seconds.push_back((3e-6 + flops / 4e11 + bytes / 3e10) * std::exp(0.03 * rng.normal()));
  }
  const TimeFit fit = fit_times(amounts, seconds);
  EXPECT_NEAR(fit.costs[0] / 3e-6, 1, 0.05);
  EXPECT_NEAR(fit.costs[1] * 4e11, 1, 0.05);
  EXPECT_NEAR(fit.costs[2] * 3e10, 1, 0.05);
  EXPECT_EQ(fit.costs[3], 0);  // an amount that is negative cannot cost
  EXPECT_LT(fit.deviation, 0.05);
}

}  // namespace
}  // namespace quern::measure
