// Functions are what they say, ridge regression finds them, and a model learns to a little; the study is the same
// twice.
#include "lab/ovq/regression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "quern/base/test_message.h"
#include "quern/nn/builtin_registry.h"

namespace quern::lab {
namespace {

TEST(Regression, EveryTagIsOneFunction) {
  const Regressions a = make_regressions(3, 2, 1, 0);
  ASSERT_EQ(a.length, 96);
  ASSERT_EQ(a.features.dim(0), 192);
  const auto x = a.features.view<const float, 2>();
  std::vector<double> late(2, 0.0);  // of ridge regression, and of saying 0
  int64_t n_late = 0;
  for (int64_t r = 0; r < 2; ++r) {
    std::map<int64_t, int32_t> seen;
    for (int64_t t = r * 96; t < (r + 1) * 96; t += 2) {
      const auto at = static_cast<size_t>(t);
      const float* tag = std::find(x.row(t) + kRegressionWidth + 2, x.row(t) + kRegressionFeatures, 1.0f);
      ASSERT_LT(tag, x.row(t) + kRegressionFeatures);
      EXPECT_EQ(a.seen[at], seen[tag - x.row(t)]++);
      EXPECT_EQ(a.seen[at + 1], -1);
      EXPECT_EQ(x(t, kRegressionWidth), 0);  // y is not said before it is asked
      EXPECT_EQ(x(t, kRegressionWidth + 1), 0);
      EXPECT_EQ(x(t + 1, kRegressionWidth), a.targets[at]);
      EXPECT_EQ(x(t + 1, kRegressionWidth + 1), 1);
      if (a.seen[at] == 0) {
        EXPECT_EQ(a.ridge[at], 0);
      }
      if (a.seen[at] < 12) continue;
      late[0] += std::pow(a.ridge[at] - a.targets[at], 2), late[1] += std::pow(a.targets[at], 2);
      ++n_late;
    }
    EXPECT_EQ(seen.size(), 3u);
    for (const auto& [tag, n] : seen) EXPECT_EQ(n, kRegressionExamples);
  }
  // Noise alone is 0.01; 12 examples of 8 weights leave about as much again. Zero is off by the variance of y.
  EXPECT_LT(late[0] / static_cast<double>(n_late), 0.08);
  EXPECT_GT(late[1] / static_cast<double>(n_late), 0.3);
}

TEST(Regression, EveryMemoryIsAModelThatLearns) {
  for (const char* memory : {"softmax", "ovq", "delta", "linear"}) {
    RegressionOptions o;
    o.memory.kind = memory, o.memory.rows = 8;
    o.train = {1}, o.test = {1, 2};
    o.lessons = {.steps = 12, .warmup = 2}, o.test_sequences = 4;
    double first = 0;
    auto note = [&](int64_t step, double loss) {
      if (step == 1) first = loss;
    };
    const RegressionOutcome once = study_regression(nn::builtin_registry(), o, note),
                            again = study_regression(nn::builtin_registry(), o, {});
    EXPECT_LT(once.loss, first) << memory;
    EXPECT_EQ(once.loss, again.loss) << memory;
    ASSERT_EQ(once.asked.size(), 1u);
    ASSERT_EQ(once.asked[0].error.size(), 2u);
    EXPECT_EQ(once.asked[0].error[1].size(), static_cast<size_t>(kRegressionExamples));
    EXPECT_LT(once.ridge[1].back(), once.ridge[1].front());
  }
}

TEST(Regression, MistakesAreNamed) {
  EXPECT_NE(message_of([] { make_regressions(129, 1, 0, 0); }).find("129 functions, expected 1 … 128"),
            std::string::npos);
  RegressionOptions o;
  o.memory.kind = "linear", o.test_rows = {16};
  EXPECT_NE(message_of([&] { study_regression(nn::builtin_registry(), o, {}); }).find("only an OVQ memory"),
            std::string::npos);
  o.test_rows = {}, o.test = {};
  EXPECT_NE(message_of([&] { study_regression(nn::builtin_registry(), o, {}); }).find("no functions"),
            std::string::npos);
}

}  // namespace
}  // namespace quern::lab
