// Attention of encoders: every key, or those near by on both sides, with and without a bias; against a value worked out by
// hand and the reference against the fast versions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "quern/base/cpu.h"
#include "quern/base/rng.h"
#include "quern/kernels/attention/attention_ref.h"
#include "quern/kernels/cpu/test_products.h"

namespace quern::kernels {
namespace {

struct Rows3 {
  std::vector<float> data;
  View<float, 3> view;
  Rows3(int64_t t, int64_t h, int64_t d, uint64_t seed) : data(static_cast<size_t>(t * h * d)) {
    Rng rng(seed);
    for (float& x : data) x = static_cast<float>(rng.uniform() * 2 - 1);
    view = {data.data(), {t, h, d}, {h * d, d, 1}};
  }
};

struct SlopedBias : ScoreBias {
  void add(const Span& at, float* s) const override {
    for (int64_t j = 0; j < at.keys; ++j) {
      const int64_t slope = at.query * 7 - (at.key + j) * 3 + at.head + at.segment;
      s[j] += at.factor * static_cast<float>(slope % 5) / 3;
    }
  }
};

// A short segment and one of n tokens beside each other: the largest difference from the reference.
double worst_both(int64_t n, const AttentionOptions& options) {
  Rows3 q(n + 3, 4, 20, 1), k(n + 3, 2, 20, 2), v(n + 3, 2, 12, 3), o(n + 3, 4, 12, 9), want(n + 3, 4, 12, 9);
  const AttentionSegment<float> segments[] = {{0, 3, k.view.slice(0, 3), v.view.slice(0, 3)},
                                              {3, n, k.view.slice(3, n + 3), v.view.slice(3, n + 3)}};
  Arena scratch;
  attention<float, float>(q.view, segments, options, o.view, {}, scratch);
  attention_ref<float, float>(q.view, segments, options, want.view, {}, scratch);
  double worst = 0;
  for (size_t i = 0; i < o.data.size(); ++i) {
    const double e = std::abs(static_cast<double>(o.data[i]) - static_cast<double>(want.data[i]));
    worst = std::max(worst, std::isnan(e) ? HUGE_VAL : e);
  }
  return worst;
}

TEST(AttentionBoth, FastMatchesReference) {
  each_products([] {
    if (active_isa() == Isa::ref) return;
    const SlopedBias sloped;
    for (int64_t n : {1, 5, 31, 64, 130, 257})
      for (int64_t window : {0, 1, 20, 64})
        for (const ScoreBias* bias : {static_cast<const ScoreBias*>(nullptr), static_cast<const ScoreBias*>(&sloped)})
          for (bool bf16_math : {false, true})
            EXPECT_LE(
                worst_both(
                    n, {.scale = 0.4, .window = window, .bf16_math = bf16_math, .sight = Sight::both, .bias = bias}),
                bf16_math ? 2.5e-2 : 2e-5)
                << fmt::format("{} n {} window {} bias {} bf16 {}", isa_name(active_isa()), n, window,
                               bias != nullptr, bf16_math);
  });
}

// Two queries that both see both keys.
TEST(AttentionBoth, SeesWhatComesAfter) {
  const float x[] = {0, std::log(3.0f)}, values[] = {1, 5}, q[] = {1, 0};
  float o[2];
  const AttentionSegment<float> s{0, 2, {x, {2, 1, 1}, {1, 1, 1}}, {values, {2, 1, 1}, {1, 1, 1}}};
  Arena scratch;
  attention<float, float>({q, {2, 1, 1}, {1, 1, 1}}, {&s, 1}, {.sight = Sight::both}, {o, {2, 1, 1}, {1, 1, 1}}, {},
                          scratch);
  EXPECT_NEAR(o[0], 4, 1e-5);  // weights 1/4 and 3/4
  EXPECT_NEAR(o[1], 3, 1e-5);
}

}  // namespace
}  // namespace quern::kernels
