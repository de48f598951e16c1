// AdamW against its formulas by hand, and gradient clipping.
#include "quern/optim/adamw/adamw.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quern {
namespace {

struct Two : Module {
  Parameter matrix{{1, 2}, Init::constant(0)}, vector{{1}, Init::constant(0)}, idle{{1}, Init::constant(0)};
  void visit(const std::string&, const ParameterVisitor& v) override {
    v("matrix", matrix), v("vector", vector), v("idle", idle);
  }
};

Two two() {
  Two m;
  m.matrix.value = Tensor::of<float>({1, 2}, {1.0f, -2.0f});
  m.vector.value = Tensor::of<float>({1}, {0.5f});
  m.idle.value = Tensor::of<float>({1}, {3.0f});
  m.matrix.grad = Tensor::of<float>({1, 2}, {0.1f, -0.2f});
  m.vector.grad = Tensor::of<float>({1}, {-0.4f});
  return m;
}

// On the first step m̂ = g and v̂ = g², so the update is lr·sign(g), whatever the betas; decay only on the matrix.
TEST(AdamW, FirstStepIsSignOfGradient) {
  Two m = two();
  AdamW opt(m, {.weight_decay = 0.1});
  opt.step(0.01);
  EXPECT_NEAR(m.matrix.value.item(0), 1.0 * (1 - 0.001) - 0.01, 1e-6);
  EXPECT_NEAR(m.matrix.value.item(1), -2.0 * (1 - 0.001) + 0.01, 1e-6);
  EXPECT_NEAR(m.vector.value.item(0), 0.5 + 0.01, 1e-6);
  EXPECT_EQ(m.idle.value.item(0), 3.0);
}

TEST(AdamW, SecondStepFollowsTheMoments) {
  Two m = two();
  AdamW opt(m, {.beta1 = 0.9, .beta2 = 0.99, .eps = 0, .weight_decay = 0});
  opt.step(0.01);
  double before = m.vector.value.item(0);
  m.vector.grad.fill(0.2);
  opt.step(0.01);
  double mm = (0.9 * 0.1 * -0.4 + 0.1 * 0.2) / (1 - 0.81), vv = (0.99 * 0.01 * 0.16 + 0.01 * 0.04) / (1 - 0.9801);
  EXPECT_NEAR(m.vector.value.item(0), before - 0.01 * mm / std::sqrt(vv), 1e-6);
}

TEST(AdamW, ClipScalesToTheLimit) {
  Two m = two();
  double norm = std::sqrt(0.01 + 0.04 + 0.16);
  EXPECT_NEAR(clip_grad_norm(m, 0.1), norm, 1e-6);
  EXPECT_NEAR(m.vector.grad.item(0), -0.4 * 0.1 / norm, 1e-6);
  EXPECT_NEAR(clip_grad_norm(m, 1.0), 0.1, 1e-6);
}

}  // namespace
}  // namespace quern
