// Objectives of log-probabilities at the head: cross-entropy as a case of them, finite differences of a term that is no
// straight line, signed weights that sum to zero, temperature, and every instruction set and chunk against the
// reference.
#include "quern/kernels/cross_entropy/head_objective.h"

#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

TEST(HeadObjective, CrossEntropyIsACase) {
  Rows<double> h = Rows<double>::random(6, 3, 1), w = Rows<double>::random(5, 3, 2);
  const std::vector<int32_t> targets = {0, 4, -1, 2, 1, 1};
  Arena scratch;
  Rows<double> gh(6, 3), gw(5, 3), eh(6, 3), ew(5, 3);
  const double mean =
      head_cross_entropy<double>({h.in(), w.in(), {}, targets, {}}, 1, {eh.view(), ew.view(), {}}, {}, scratch);
  const double sum = head_objective<double>(
      {h.in(), w.in(), targets},
      [](int64_t, double logp) {
        return TokenTerm{-logp / 5, -1.0 / 5};
      },
      1, {gh.view(), gw.view(), {}}, scratch);
  EXPECT_NEAR(sum, mean, 1e-12);
  for (size_t i = 0; i < eh.data.size(); ++i) EXPECT_NEAR(gh.data[i], eh.data[i], 1e-12);
  for (size_t i = 0; i < ew.data.size(); ++i) EXPECT_NEAR(gw.data[i], ew.data[i], 1e-12);
}

TEST(HeadObjective, GradientOfACurvedTermWithTemperature) {
  Rows<double> h = Rows<double>::random(4, 3, 1), w = Rows<double>::random(5, 3, 2), gh(4, 3), gw(5, 3);
  const std::vector<int32_t> targets = {0, 4, -1, 2};
  Arena scratch;
  for (double temperature : {1.0, 0.6, 1.7}) {
    const HeadObjective<double> in{h.in(), w.in(), targets, temperature};
    const double sign[] = {1, -2, 0, 0.5};
    const auto square = [&](int64_t t, double logp) {  // e^logp and its slope
      return TokenTerm{sign[t] * std::exp(logp), sign[t] * std::exp(logp)};
    };
    std::ranges::fill(gw.data, 0);
    auto loss = [&] { return 1.3 * head_objective<double>(in, square, 1, {}, scratch); };
    head_objective<double>(in, square, 1.3, {gh.view(), gw.view(), {}}, scratch);
    check_gradient(loss, h.data, gh.data);
    check_gradient(loss, w.data, gw.data);
  }
}

// The head loss divides by the sum of its weights; here a sum of zero still moves.
TEST(HeadObjective, WeightsThatSumToZeroHaveAGradient) {
  each_isa([] {
    Rows<float> h = Rows<float>::random(2, 8, 3), w = Rows<float>::random(9, 8, 4), gh(2, 8);
    const std::vector<int32_t> targets = {3, 5};
    Arena scratch;
    head_objective<float>(
        {h.in(), w.in(), targets},
        [](int64_t t, double) {
          return TokenTerm{0, t == 0 ? 1.0 : -1.0};
        },
        1, {gh.view(), {}, {}}, scratch);
    double size = 0;
    for (float g : gh.data) size += std::abs(static_cast<double>(g));
    EXPECT_GT(size, 0.1);
  });
}

TEST(HeadObjective, AllIsasAndChunksAgree) {
  constexpr int64_t kTokens = 23, kWidth = 19, kVocab = 101;
  std::vector<int32_t> targets(kTokens);
  Rng rng(7);
  for (int32_t& t : targets) t = static_cast<int32_t>(rng.below(kVocab));
  targets[0] = targets[5] = targets[6] = -1;
  Rows<float> h = Rows<float>::random(kTokens, kWidth, 1), w = Rows<float>::random(kVocab, kWidth, 2);
  std::vector<int64_t> asked;
  const auto term = [&](int64_t t, double logp) {  // masks a third of the tokens
    asked.push_back(t);
    return t % 3 == 0 ? TokenTerm{} : TokenTerm{logp * logp, 2 * logp};
  };
  Arena scratch;
  Rows<float> eh(kTokens, kWidth), ew(kVocab, kWidth);
  const double expected =
      head_objective_ref<float>({h.in(), w.in(), targets, 0.8}, term, 0.7, {eh.view(), ew.view(), {}}, scratch);
  const std::vector<int64_t> order = asked;
  EXPECT_EQ(order.size(), kTokens - 3u);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  for (int64_t chunk_tokens : {1, 4, 23, 1000})
    each_isa([&] {
      SCOPED_TRACE(testing::Message() << chunk_tokens << " tokens a chunk");
      Rows<float> gh = Rows<float>::random(kTokens, kWidth, 9), gw(kVocab, kWidth);
      asked.clear();
      const double loss = head_objective<float>({h.in(), w.in(), targets, 0.8, chunk_tokens * kVocab * 4}, term, 0.7,
                                                {gh.view(), gw.view(), {}}, scratch);
      EXPECT_EQ(asked, order);
      EXPECT_NEAR(loss, expected, 1e-4 * std::abs(expected));
      for (size_t i = 0; i < eh.data.size(); ++i) EXPECT_NEAR(gh.data[i], eh.data[i], 2e-5);
      for (size_t i = 0; i < ew.data.size(); ++i) EXPECT_NEAR(gw.data[i], ew.data[i], 2e-5);
    });
}

}  // namespace
}  // namespace quern::kernels
