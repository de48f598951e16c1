// Sampling: frequencies follow the distribution, cuts keep what they should, seeds repeat.
#include "quern/infer/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern::infer {
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

// Of every length around the blocks it is looked for in, with equals and with rows that are banned but for one place.
TEST(Sampler, GreedyFindsTheFirstOfTheGreatestInRowsOfAnyLength) {
  Rng rng(5);
  for (size_t n : {1u, 2u, 15u, 16u, 17u, 255u, 256u, 257u, 300u, 1024u, 4099u})
    for (int round = 0; round < 20; ++round) {
      std::vector<float> x(n);
      for (float& v : x) v = std::floor(static_cast<float>(rng.normal()) * 4);
      const auto best = std::max_element(x.begin(), x.end()) - x.begin();
      EXPECT_EQ(sample(x, {.temperature = 0}, 0).token, best) << n;
      const auto only = static_cast<size_t>(rng.below(n));
      std::fill(x.begin(), x.end(), -std::numeric_limits<float>::infinity());
      x[only] = -7;
      EXPECT_EQ(sample(x, {.temperature = 0}, 0).token, static_cast<int32_t>(only)) << n;
      EXPECT_EQ(sample(x, {.temperature = 1}, 0).token, static_cast<int32_t>(only)) << n;
    }
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
    auto sampled = [&](const SamplingOptions& o) {
      std::map<int32_t, double> f;
      for (uint64_t step = 0; step < 4000; ++step) f[sample(logits, o, step).token] += 1.0 / 4000;
      return f;
    };
    for (const double share : {0.3, 0.9}) {
      std::set<int32_t> kept;
      double mass = 0;
      for (size_t i = 0; i < n && mass < share * all; ++i)
        kept.insert(static_cast<int32_t>(by[i])), mass += std::exp(static_cast<double>(logits[by[i]]));
      for (const auto& [token, f] : sampled({.top_p = share})) EXPECT_TRUE(kept.contains(token)) << n << " " << share;
    }
    for (const auto& [token, f] : sampled({.min_p = 0.05}))
      EXPECT_GE(std::exp(logits[static_cast<size_t>(token)] - logits[by[0]]), 0.0499f) << n;
    const auto free = sampled({.seed = 5});
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
    s.accept_prompt(prompt);
    for (int32_t t : answer) s.accept_token(t);
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

// What the definition says, place by place.
std::map<int32_t, double> dry_by_hand(const std::vector<int32_t>& seen, const DryOptions& o,
                                      const std::set<int32_t>& breakers) {
  std::map<int32_t, double> losses;
  const auto n = static_cast<int64_t>(seen.size());
  const int64_t from = o.last_n < 0 ? 0 : std::max<int64_t>(0, n - o.last_n);
  for (int64_t end = from; end + 1 < n; ++end) {
    int64_t length = 0;
    while (end - length >= from &&
           seen[static_cast<size_t>(end - length)] == seen[static_cast<size_t>(n - 1 - length)] &&
           !breakers.contains(seen[static_cast<size_t>(end - length)]))
      ++length;
    if (length < o.allowed_length) continue;
    double& loss = losses[seen[static_cast<size_t>(end + 1)]];
    loss = std::max(loss,
                    std::min(1e4, o.multiplier * std::pow(o.base, static_cast<double>(length - o.allowed_length))));
  }
  return losses;
}

TEST(Dry, TakesFromWhatWouldGoOnWithSomethingSaidBefore) {
  Rng rng(3);
  for (const int64_t last_n : {-1, 40, 7}) {
    DryOptions o{.multiplier = 0.8, .allowed_length = 2, .last_n = last_n, .breakers = {"\n"}};
    o.text = [](int32_t t) { return t == 5 ? "\n" : "x"; };
    DryPenalties repeats(o);
    std::vector<int32_t> seen;
    size_t found = 0;
    for (int i = 0; i < 400; ++i) {
      // Now and then a stretch of what was there already, also one that overlaps itself.
      if (seen.size() > 20 && rng.uniform() < 0.2) {
        const size_t at = seen.size() - 1 - static_cast<size_t>(rng.uniform() * 19);
        for (size_t k = 0; k < 9; ++k) seen.push_back(seen[at + k]), repeats.push(seen.back());
      }
      seen.push_back(static_cast<int32_t>(rng.uniform() * 7)), repeats.push(seen.back());
      const auto losses = repeats.penalties();
      const std::map<int32_t, double> sorted(losses.begin(), losses.end()), wanted = dry_by_hand(seen, o, {5});
      ASSERT_EQ(sorted, wanted) << i;
      found += !wanted.empty();
    }
    EXPECT_GT(found, 10u) << last_n;
  }
}

TEST(Dry, AWordWithoutEndCostsNoMoreThanItsNewestPlaces) {
  DryPenalties repeats({.multiplier = 1, .base = 1.0001});
  for (int i = 0; i < 50'000; ++i) repeats.push(7);  // every place of every one would be a thousand million steps
  EXPECT_GT(repeats.penalties().at(7), std::pow(1.0001, 20'000));
}

TEST(Dry, BreakersMayLieAcrossTokens) {
  const std::vector<std::string> texts = {"a", "b", "User", ":", " :", "\n"};
  auto lost = [&](std::vector<std::string> breakers, std::vector<int32_t> tokens) {
    DryOptions o{.multiplier = 1, .allowed_length = 2, .breakers = std::move(breakers)};
    o.text = [&](int32_t t) { return texts[static_cast<size_t>(t)]; };
    DryPenalties r(o);
    for (int32_t t : tokens) r.push(t);
    return !r.penalties().empty();
  };
  EXPECT_TRUE(lost({}, {2, 3, 0, 1, 2, 3}));
  EXPECT_FALSE(lost({":"}, {2, 3, 0, 1, 2, 3}));
  EXPECT_FALSE(lost({"User:"}, {2, 3, 0, 1, 2, 3}));
  EXPECT_TRUE(lost({"User:"}, {2, 4, 0, 1, 2, 4})) << "'User :' has no 'User:'";
  EXPECT_TRUE(lost({"User:"}, {0, 3, 0, 1, 0, 3})) << "'a:' has none either";
}

TEST(Dry, ActsOnTheDrawWhereverItStands) {
  auto sampled = [](SamplingOptions o) {
    o.dry.multiplier = 50;
    Sampler s(o);
    s.accept_prompt(std::vector<int32_t>{2, 4, 1, 0, 2, 4});  // 2, 4 was followed by 1
    std::set<int32_t> ids;
    for (uint64_t step = 0; step < 500; ++step) ids.insert(s.next(kLogits, step).token);
    return ids;
  };
  EXPECT_EQ(sampled({.temperature = 0}), (std::set<int32_t>{3}));
  EXPECT_EQ(sampled({.temperature = 0, .order = parse_sample_order("top_k,dry")}), (std::set<int32_t>{3}));
  EXPECT_FALSE(sampled({}).contains(1));
  EXPECT_FALSE(sampled({.top_k = 3}).contains(1));
  EXPECT_FALSE(sampled({.top_k = 3, .order = parse_sample_order("top_k,dry,temperature")}).contains(1));
  EXPECT_TRUE(sampled({.order = parse_sample_order("temperature,top_k")}).contains(1)) << "a step that is not there";
  Sampler off({.temperature = 0, .dry = {.multiplier = 50, .last_n = 0}});
  off.accept_prompt(std::vector<int32_t>{2, 4, 1, 0, 2, 4});
  EXPECT_EQ(off.next(kLogits, 0).token, 1);
}

TEST(Sampler, TopNSigmaIsMeasuredInDeviationsOfTheRow) {
  // Deviation 1.497: at 1 all from 1.50 up stay, at 1.4 those from 0.904, at 3 all.
  using Kept = std::set<int32_t>;
  auto kept = [](std::vector<float> logits, SamplingOptions o) {
    Kept ids;
    for (uint64_t step = 0; step < 5000; ++step) ids.insert(sample(logits, o, step).token);
    return ids;
  };
  EXPECT_EQ(kept(kLogits, {.top_n_sigma = 1}), (Kept{1, 2, 3}));
  EXPECT_EQ(kept(kLogits, {.top_n_sigma = 1.4}), (Kept{0, 1, 2, 3}));
  EXPECT_EQ(kept(kLogits, {.top_n_sigma = 3}), (Kept{0, 1, 2, 3, 4}));
  EXPECT_EQ(kept(kLogits, {.top_n_sigma = -1}), (Kept{0, 1, 2, 3, 4}));
  // However hot, and on whichever side of the temperature: the same ones.
  EXPECT_EQ(kept(kLogits, {.temperature = 20, .top_n_sigma = 1}), (Kept{1, 2, 3}));
  EXPECT_EQ(
      kept(kLogits, {.temperature = 20, .order = parse_sample_order("top_n_sigma,temperature"), .top_n_sigma = 1}),
      (Kept{1, 2, 3}));
  // A hundred tokens that a grammar has banned say nothing of the rest.
  std::vector<float> banned = kLogits;
  banned.resize(105, -1e30f);
  EXPECT_EQ(kept(banned, {.top_n_sigma = 1}), (Kept{1, 2, 3}));
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
  s.accept_token(1);
  EXPECT_EQ(s.next(kLogits, 0).token, 1);
  EXPECT_THROW(parse_sample_order("top_k,topp"), Error);
  EXPECT_THROW(parse_sample_order("top_k,top_k"), Error);
  EXPECT_THROW(sample_order({"typ_p", "typical_p"}), Error);
  EXPECT_EQ(sample_order({"typ_p", "dry"}), (std::vector{SampleStep::typical_p, SampleStep::dry}));
  EXPECT_EQ(SamplingOptions().order,
            parse_sample_order("penalties,dry,temperature,top_n_sigma,top_k,typical_p,top_p,min_p,xtc"));
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
  EXPECT_THROW(check({.top_n_sigma = NAN}), Error);
  EXPECT_THROW(check({.dry = {.multiplier = -1}}), Error);
  EXPECT_THROW(check({.dry = {.base = 0.5}}), Error);
  EXPECT_THROW(check({.dry = {.allowed_length = 0}}), Error);
  EXPECT_THROW(check({.dry = {.last_n = -2}}), Error);
  EXPECT_THROW(check({.dry = {.breakers = {""}}}), Error);
  std::vector<float> nan = {NAN, NAN};
  EXPECT_THROW(sample(nan, {}, 0), Error);
}

}  // namespace
}  // namespace quern::infer
