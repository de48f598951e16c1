#include "quern/measure/product_sweep.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern::measure {
namespace {

FormatProducts synthetic() {  // 5 µs, 200 GFLOP/s, 50 GB/s; what has N = 1000 takes twice as long
  FormatProducts f;
  f.format = "f32";
  Rng rng(4);
  for (const int64_t m : {1, 4, 16, 64, 256, 512})
    for (const int64_t n : {256, 1000, 1024, 2048})
      for (const int64_t k : {256, 1024, 2048}) {
        const ProductShape s{m, n, k};
        const auto bytes = static_cast<double>(4 * (n * k + m * (n + k)));
        double t = (5e-6 + s.flops() / 200e9 + bytes / 50e9) * std::exp(0.03 * rng.normal());
        if (n == 1000) t *= 2;
        f.times.push_back({s, bytes, t, 0});
      }
  fit_products(f);
  return f;
}

TEST(ProductSweep, TheModelIsFoundAndWhatIsSlowStandsOut) {
  const FormatProducts f = synthetic();
  EXPECT_NEAR(f.latency_s / 5e-6, 1, 0.15);
  EXPECT_NEAR(f.flops_per_s / 200e9, 1, 0.05);
  EXPECT_NEAR(f.bytes_per_s / 50e9, 1, 0.1);
  const std::vector<ProductTime> slow = f.to_avoid();
  EXPECT_EQ(slow.size(), 18u);
  for (const ProductTime& t : slow) {
    EXPECT_EQ(t.shape.n, 1000);
    EXPECT_TRUE(f.slow_reason(t).starts_with("N = 1000: 1024 is ")) << f.slow_reason(t);
  }
  for (size_t i = 1; i < slow.size(); ++i) EXPECT_GE(slow[i - 1].slowdown(), slow[i].slowdown());
}

TEST(ProductSweep, TheKneeIsWhereTheModelReachesTheShare) {
  const FormatProducts f = synthetic();
  const int64_t m = f.knee(1024, 1024);
  const double flops = 2.0 * static_cast<double>(m) * 1024 * 1024,
               bytes = 4.0 * (1024 * 1024 + static_cast<double>(m) * 2048);
  const double share = flops / (5e-6 + flops / 200e9 + bytes / 50e9) / 200e9;
  EXPECT_NEAR(share, 0.9, 0.02);
  EXPECT_GT(f.knee(256, 256), m);  // small products need more rows
}

TEST(ProductSweep, EveryShapeAndFormatIsTimed) {
  const auto all = sweep_products({.m = {1, 16, 32}, .n = {64, 96}, .k = {64, 128}, .reps = 1, .seconds = 1e-4});
  ASSERT_EQ(all.size(), 4u);
  for (const FormatProducts& f : all) {
    EXPECT_EQ(f.times.size(), 12u);
    for (const ProductTime& t : f.times) {
      EXPECT_GT(t.gflops(), 0.001);
      EXPECT_GT(t.predicted, 0);
    }
  }
  EXPECT_GT(all[0].times[0].bytes, all[3].times[0].bytes);  // q4 is smaller than f32
  EXPECT_THROW(sweep_products({.formats = {"q3"}}), Error);
}

}  // namespace
}  // namespace quern::measure
