// Schedules at their corners, the order of summation of gradient norms, and name patterns.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/rng.h"
#include "quern/base/threads.h"
#include "quern/optim/clip.h"
#include "quern/optim/groups.h"
#include "quern/optim/schedule.h"

namespace quern::optim {
namespace {

TEST(Schedule, WarmsUpFromAnyRate) {
  ScheduleConfig c{.shape = "constant", .peak = 2, .start = 1, .warmup = 10};
  EXPECT_EQ(learning_rate(c, 0), 1);
  EXPECT_EQ(learning_rate(c, 5), 1.5);
  EXPECT_EQ(learning_rate(c, 10), 2);
  EXPECT_EQ(learning_rate(c, 1e9), 2);
}

TEST(Schedule, CosineFallsToTheFinalRate) {
  ScheduleConfig c{.shape = "cosine", .peak = 6e-4, .final = 2e-4, .warmup = 100, .total = 1100};
  EXPECT_DOUBLE_EQ(learning_rate(c, 100), 6e-4);
  EXPECT_NEAR(learning_rate(c, 600), 4e-4, 1e-12);
  EXPECT_NEAR(learning_rate(c, 350), 4e-4 + 2e-4 * std::sqrt(0.5), 1e-12);
  EXPECT_DOUBLE_EQ(learning_rate(c, 1100), 2e-4);
  EXPECT_DOUBLE_EQ(learning_rate(c, 5000), 2e-4);
}

TEST(Schedule, LinearAndWsd) {
  ScheduleConfig linear{.shape = "linear", .peak = 1, .warmup = 10, .total = 110};
  EXPECT_NEAR(learning_rate(linear, 35), 0.75, 1e-12);
  ScheduleConfig wsd{.shape = "wsd", .peak = 1, .final = 0.1, .warmup = 10, .decay = 20, .total = 100};
  EXPECT_EQ(learning_rate(wsd, 80), 1);
  EXPECT_NEAR(learning_rate(wsd, 90), 0.55, 1e-12);
  EXPECT_NEAR(learning_rate(wsd, 100), 0.1, 1e-12);
  wsd.decay_shape = "sqrt";
  EXPECT_NEAR(learning_rate(wsd, 85), 0.1 + 0.9 * 0.5, 1e-12);
}

// Annealing: from the rate a run ended with up to three quarters of its peak, and down to nothing.
TEST(Schedule, RewarmAndFastDecay) {
  ScheduleConfig c{.shape = "wsd", .peak = 0.75 * 6e-4, .start = 2e-4, .warmup = 10, .decay = 90, .total = 100};
  EXPECT_EQ(learning_rate(c, 0), 2e-4);
  EXPECT_DOUBLE_EQ(learning_rate(c, 10), 4.5e-4);
  EXPECT_NEAR(learning_rate(c, 55), 2.25e-4, 1e-12);
  EXPECT_NEAR(learning_rate(c, 100), 0, 1e-12);
  c.decay = 0;
  c.warmup = 20;
  EXPECT_EQ(learning_rate(c, 99), c.peak);
}

TEST(Schedule, WrongFieldsAreErrors) {
  EXPECT_THROW(check({.shape = "cosin", .total = 1}), Error);
  EXPECT_THROW(check({.shape = "cosine"}), Error);
  EXPECT_THROW(check({.shape = "wsd", .decay = 2, .total = 1}), Error);
  EXPECT_THROW(check({.shape = "constant", .peak = -1}), Error);
  EXPECT_THROW(check({.shape = "wsd", .total = 1, .decay_shape = "step"}), Error);
  EXPECT_NO_THROW(check({.shape = "wsd", .warmup = 1, .decay = 2, .total = 3}));
}

struct Model2 : nn::Module {
  grad::Parameter a{{300, 701}, grad::Init::normal(1)}, b{{77}, grad::Init::normal(1)},
      idle{{1}, grad::Init::constant(0)};
  void visit(const std::string&, const nn::ParameterVisitor& v) override { v("a", a), v("b", b), v("idle", idle); }
};

TEST(GradNorm, IsTheNormWhateverTheThreads) {
  Model2 m;
  nn::initialize(m, 1);
  m.a.grad = m.a.value.clone(), m.b.grad = m.b.value.clone();
  double sum = 0;
  for (const Tensor& g : {m.a.grad, m.b.grad})
    for (float x : g.span<float>()) sum += static_cast<double>(x) * x;
  const int before = thread_count();
  set_thread_count(1);
  const double one = grad_norm(m);
  set_thread_count(3);
  EXPECT_EQ(grad_norm(m), one);
  set_thread_count(before);
  EXPECT_NEAR(one, std::sqrt(sum), 1e-10 * one);

  EXPECT_EQ(clip_scale(one, 2 * one), 1);
  EXPECT_EQ(clip_grad_norm(m, 1.0), one);
  EXPECT_NEAR(grad_norm(m), 1, 1e-6);
  EXPECT_NEAR(clip_grad_norm(m, 1.5), 1, 1e-6);
  EXPECT_NEAR(grad_norm(m), 1, 1e-6);
}

TEST(Patterns, StarStandsForAnything) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("model.layers.*.mlp.*", "model.layers.12.mlp.up_proj.weight"));
  EXPECT_TRUE(matches("*.weight", "a.weight.weight"));
  EXPECT_FALSE(matches("*.weight", "a.weights"));
  EXPECT_FALSE(matches("model", "models"));
  EXPECT_TRUE(matches("**a*", "bab"));
}

}  // namespace
}  // namespace quern::optim
