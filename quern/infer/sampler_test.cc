// Sampling: frequencies follow the distribution, cuts keep what they should, seeds repeat.
#include "quern/infer/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern {
namespace {

const std::vector<float> kLogits = {1.0f, 3.0f, 2.0f, 3.0f, -1.0f};

TokenLogprob sample(std::span<const float> logits, const SamplingOptions& o, uint64_t step) {
  return Sampler(o).next(logits, step);
}

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
  TokenLogprob s = sample(kLogits, {.temperature = 0}, 0);
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

// The cuts against the definition, sorted out in full, on vocabularies of many sizes.
TEST(Sampler, CutsOfLargeVocabularies) {
  for (const size_t n : {7, 64, 65, 1000, 5000}) {
    Rng rng(n);
    std::vector<float> logits(n);
    for (float& x : logits) x = static_cast<float>(rng.normal() * 3);
    std::vector<size_t> by(n);
    for (size_t i = 0; i < n; ++i) by[i] = i;
    std::sort(by.begin(), by.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
    double all = 0;
    for (const float x : logits) all += std::exp(static_cast<double>(x));
    auto drawn = [&](const SamplingOptions& o) {
      std::map<int32_t, double> f;
      for (uint64_t step = 0; step < 4000; ++step) f[sample(logits, o, step).token] += 1.0 / 4000;
      return f;
    };
    for (const double share : {0.3, 0.9}) {
      std::set<int32_t> kept;
      double mass = 0;
      for (size_t i = 0; i < n && mass < share * all; ++i)
        kept.insert(static_cast<int32_t>(by[i])), mass += std::exp(static_cast<double>(logits[by[i]]));
      for (const auto& [token, f] : drawn({.top_p = share})) EXPECT_TRUE(kept.contains(token)) << n << " " << share;
    }
    for (const auto& [token, f] : drawn({.min_p = 0.05}))
      EXPECT_GE(std::exp(logits[static_cast<size_t>(token)] - logits[by[0]]), 0.0499f) << n;
    const auto free = drawn({.seed = 5});
    for (size_t i = 0; i < std::min<size_t>(n, 4); ++i) {
      const double p = std::exp(static_cast<double>(logits[by[i]])) / all;
      const auto found = free.find(static_cast<int32_t>(by[i]));
      EXPECT_NEAR(found == free.end() ? 0 : found->second, p, 4.5 * std::sqrt(p * (1 - p) / 4000) + 1e-9) << n;
    }
  }
}

TEST(Sampler, NeverDrawsWhatIsBanned) {
  std::vector<float> logits(200, -1e30f);
  logits[63] = 1, logits[64] = 2, logits[130] = -5;
  for (const double t : {1e-300, 1e-6, 1.0, 50.0})
    for (uint64_t step = 0; step < 3000; ++step) {
      const int32_t token = sample(logits, {.temperature = t}, step).token;
      ASSERT_TRUE(token == 63 || token == 64 || token == 130) << token << " at " << t;
      if (t < 1e-3) {
        ASSERT_EQ(token, 64);
      }
    }
}

// What transformers' TypicalLogitsWarper keeps of the same logits.
TEST(Sampler, TypicalKeepsWhatIsNearTheExpectedSurprise) {
  using Kept = std::set<int32_t>;
  const std::vector<float> peaked = {4.0f, 1.0f, 0.5f, 0.0f, -0.5f, -2.0f};
  auto kept = [](const std::vector<float>& logits, double typical_p) {
    Kept ids;
    for (uint64_t step = 0; step < 20000; ++step) ids.insert(sample(logits, {.typical_p = typical_p}, step).token);
    return ids;
  };
  EXPECT_EQ(kept(kLogits, 0.05), (Kept{1, 3}));
  EXPECT_EQ(kept(kLogits, 0.8), (Kept{1, 2, 3}));
  EXPECT_EQ(kept(kLogits, 0.95), (Kept{0, 1, 2, 3}));
  EXPECT_EQ(kept(kLogits, 0.999), (Kept{0, 1, 2, 3, 4}));
  EXPECT_EQ(kept(peaked, 0.8), (Kept{0}));
  EXPECT_EQ(kept(peaked, 0.95), (Kept{0, 1, 2}));
}

TEST(Sampler, TopChoicesAreExcludedByChance) {
  // Shares .053, .397, .146, .397, .007: at .1 three are top choices and of them the least likely, 2, stays.
  auto always = frequencies({.xtc_probability = 1});
  EXPECT_EQ(always.count(1) + always.count(3), 0u);
  const double rest = p(0, 1) + p(2, 1) + p(4, 1);
  for (const int32_t t : {0, 2, 4}) EXPECT_NEAR(always[t], p(static_cast<size_t>(t), 1) / rest, 0.012) << t;
  auto sometimes = frequencies({.seed = 3, .xtc_probability = 0.25});
  EXPECT_NEAR(sometimes[1], 0.75 * p(1, 1), 0.012);
  EXPECT_NEAR(sometimes[2], 0.75 * p(2, 1) + 0.25 * p(2, 1) / rest, 0.012);
  auto equals = frequencies({.xtc_probability = 1, .xtc_threshold = 0.3});
  EXPECT_NEAR(equals[1], p(1, 1), 0.012) << "both top choices are as likely as the least of them";
}

TEST(Sampler, SameSeedAndStepSameToken) {
  for (uint64_t step = 0; step < 50; ++step)
    EXPECT_EQ(sample(kLogits, {.seed = 9}, step).token, sample(kLogits, {.seed = 9}, step).token);
}

TEST(Sampler, PenaltiesAndBias) {
  auto best = [](SamplingOptions o, std::vector<int32_t> prompt, std::vector<int32_t> answer) {
    o.temperature = 0;
    Sampler s(o);
    s.saw_prompt(prompt);
    for (int32_t t : answer) s.took(t);
    return s.next(kLogits, 0).token;
  };
  EXPECT_EQ(best({.logit_bias = {{1, -100.0}}}, {}, {}), 3);
  EXPECT_EQ(best({.repetition_penalty = 1.2}, {1}, {}), 3);   // 3 / 1.2 = 2.5
  EXPECT_EQ(best({.repetition_penalty = 1.2}, {1}, {3}), 1);  // both 2.5: the lower id
  EXPECT_EQ(best({.repetition_penalty = 1.6}, {1}, {3}), 2);  // 1.875 < 2
  EXPECT_EQ(best({.presence_penalty = 0.5}, {1}, {3}), 1);    // presence does not see the prompt
  EXPECT_EQ(best({.presence_penalty = 0.5}, {}, {1, 1, 1}), 3);
  EXPECT_EQ(best({.frequency_penalty = 0.4}, {}, {3, 1, 1, 3, 3}), 1);     // 3 − 0.8 against 3 − 1.2
  EXPECT_EQ(best({.frequency_penalty = 0.4}, {}, {3, 1, 1, 1, 3, 3}), 2);  // both 1.8 < 2
  EXPECT_NEAR(Sampler({.temperature = 0, .logit_bias = {{4, 50.0}}}).next(kLogits, 0).logprob, std::log(p(4, 1)),
              1e-6)
      << "the reported probability is the model's own";
}

TEST(Sampler, TheOrderMatters) {
  // At temperature 4 the distribution is nearly flat: 0.38 of it needs two tokens after the temperature, one before.
  SamplingOptions o{.temperature = 4, .top_p = 0.38};
  EXPECT_GT(frequencies(o).size(), 1u);
  o.order = parse_sample_order("penalties,top_p,temperature");
  EXPECT_EQ(frequencies(o).size(), 1u);
  // Penalties last touch what is left: top-k of 1 cannot be undone by them.
  SamplingOptions last{.top_k = 1, .presence_penalty = 100, .order = parse_sample_order("top_k,penalties")};
  Sampler s(last);
  s.took(1);
  EXPECT_EQ(s.next(kLogits, 0).token, 1);
  EXPECT_THROW(parse_sample_order("top_k,topp"), Error);
  EXPECT_THROW(parse_sample_order("top_k,top_k"), Error);
}

TEST(Sampler, TopLogprobsFall) {
  auto top = top_logprobs(kLogits, 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].token, 1);
  EXPECT_EQ(top[1].token, 3);
  EXPECT_EQ(top[2].token, 2);
  EXPECT_NEAR(top[2].logprob, std::log(p(2, 1)), 1e-6);
  EXPECT_EQ(top_logprobs(kLogits, 99).size(), kLogits.size());
}

TEST(Sampler, RefusesNonsense) {
  EXPECT_THROW(check({.temperature = -1}), Error);
  EXPECT_THROW(check({.temperature = NAN}), Error);
  EXPECT_THROW(check({.top_p = 0}), Error);
  EXPECT_THROW(check({.min_p = 2}), Error);
  EXPECT_THROW(check({.typical_p = 0}), Error);
  EXPECT_THROW(check({.xtc_probability = 2}), Error);
  EXPECT_THROW(check({.xtc_probability = 1, .xtc_threshold = 0}), Error);
  std::vector<float> nan = {NAN, NAN};
  EXPECT_THROW(sample(nan, {}, 0), Error);
}

}  // namespace
}  // namespace quern
