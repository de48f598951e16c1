// Sampling: frequencies follow the distribution, cuts keep what they should, seeds repeat.
#include "quern/infer/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "quern/base/error.h"

namespace quern {
namespace {

const std::vector<float> kLogits = {1.0f, 3.0f, 2.0f, 3.0f, -1.0f};

std::map<int32_t, double> frequencies(SamplingOptions o, int n = 20000) {
  std::map<int32_t, double> f;
  for (int i = 0; i < n; ++i) f[sample(kLogits, o, static_cast<uint64_t>(i)).token] += 1.0 / n;
  return f;
}

double p(size_t i, double t) {
  double z = 0;
  for (float x : kLogits) z += std::exp(x / t);
  return std::exp(kLogits[i] / t) / z;
}

TEST(Sampler, GreedyTakesTheLowestOfEqualsAndReportsItsProbability) {
  Sampled s = sample(kLogits, {.temperature = 0}, 0);
  EXPECT_EQ(s.token, 1);
  EXPECT_NEAR(s.logprob, std::log(p(1, 1)), 1e-6);
}

TEST(Sampler, FrequenciesFollowTheTemperature) {
  for (double t : {1.0, 2.5}) {
    auto f = frequencies({.temperature = t, .seed = 4});
    for (size_t i = 0; i < kLogits.size(); ++i)
      EXPECT_NEAR(f[static_cast<int32_t>(i)], p(i, t), 0.012) << i << " at " << t;
  }
}

TEST(Sampler, CutsKeepWhatTheyShould) {
  EXPECT_EQ(frequencies({.top_k = 2}).size(), 2u);
  auto k3 = frequencies({.top_k = 3});
  EXPECT_NEAR(k3[2], p(2, 1) / (p(1, 1) + p(2, 1) + p(3, 1)), 0.012);
  EXPECT_EQ(frequencies({.top_p = p(1, 1) + 0.01}).size(), 2u);  // the two likeliest are needed to pass it
  EXPECT_EQ(frequencies({.top_p = 1e-9}).size(), 1u);
  EXPECT_EQ(frequencies({.min_p = 0.3}).size(), 3u);  // e^-1 = .37 stays, e^-2 = .14 goes
}

TEST(Sampler, SameSeedAndStepSameToken) {
  for (uint64_t step = 0; step < 50; ++step)
    EXPECT_EQ(sample(kLogits, {.seed = 9}, step).token, sample(kLogits, {.seed = 9}, step).token);
}

TEST(Sampler, RefusesNonsense) {
  EXPECT_THROW(check({.temperature = -1}), Error);
  EXPECT_THROW(check({.temperature = NAN}), Error);
  EXPECT_THROW(check({.top_p = 0}), Error);
  EXPECT_THROW(check({.min_p = 2}), Error);
  std::vector<float> nan = {NAN, NAN};
  EXPECT_THROW(sample(nan, {}, 0), Error);
}

}  // namespace
}  // namespace quern
