// The balancing controller: direction and size of its first step, silence without load, and that it balances a router
// whose classes attract unequal shares.
#include "quern/optim/balance/balance.h"

#include <gtest/gtest.h>

#include "quern/base/rng.h"

namespace quern::optim {
namespace {

struct One {
  grad::Parameter p;
  OptimizerSlot slot;
  const BiasBalancer balancer;
  One(Tensor biases, BalanceOptions o) : balancer(o) {
    p.shape = biases.shape(), p.value = std::move(biases), p.kind = grad::ParameterKind::balance, p.trainable = false;
    slot.name = "biases", slot.parameter = &p;
    slot.state = OptimizerState(balancer.state("biases", p));
  }
  void step(Tensor counts) {
    p.grad = std::move(counts);
    OptimizerSlot* slots[] = {&slot};
    balancer.step(slots, {.lr = 123});
  }
};

// First step of AdamW: the sign of f − 1/E, times its own lr.
TEST(Balance, OverloadedClassesFall) {
  One one(Tensor::of<float>({4}, {0, 0, 0, -1}), {.lr = 0.01});
  one.step(Tensor::of<float>({4}, {70, 10, 20, 0}));
  EXPECT_NEAR(one.p.value.item(0), -0.01, 1e-7);
  EXPECT_NEAR(one.p.value.item(1), 0.01, 1e-7);
  EXPECT_NEAR(one.p.value.item(2), 0.01, 1e-7);
  EXPECT_NEAR(one.p.value.item(3), -0.99, 1e-7);
  Tensor before = one.p.value.clone();
  one.step(Tensor::zeros({4}, DType::f32));
  EXPECT_EQ(one.p.value.item(0), before.item(0));
  EXPECT_EQ(one.slot.state.at("step").item(), 1);
}

// Only the ratios of the counts matter: a sum and a mean over ranks are the same load.
TEST(Balance, CountsMayBeSummedOrAveraged) {
  One sum(Tensor::zeros({3}, DType::f32), {}), mean(Tensor::zeros({3}, DType::f32), {});
  for (float k : {1.0f, 2.0f, 5.0f}) {
    sum.step(Tensor::of<float>({3}, {8 * k, 16, 40}));
    mean.step(Tensor::of<float>({3}, {2 * k, 4, 10}));
  }
  for (int64_t j = 0; j < 3; ++j) EXPECT_EQ(sum.p.value.item(j), mean.p.value.item(j));
}

TEST(Balance, SharesBecomeEqual) {
  constexpr int64_t kClasses = 17, kTokens = 1700;
  One one(Tensor::zeros({kClasses}, DType::f32), {});
  Rng rng(3);
  Tensor counts;
  for (int step = 0; step < 600; ++step) {
    counts = Tensor::zeros({kClasses}, DType::f32);
    for (int64_t t = 0; t < kTokens; ++t) {
      int64_t best = 0;
      double best_score = -1;
      for (int64_t j = 0; j < kClasses; ++j) {
        const double score = 0.3 * rng.uniform() + 0.01 * static_cast<double>(j) + one.p.value.item(j);
        if (score > best_score) best_score = score, best = j;
      }
      counts.data<float>()[best] += 1;
    }
    one.step(counts);
  }
  for (int64_t j = 0; j < kClasses; ++j) EXPECT_NEAR(counts.item(j) / kTokens, 1.0 / kClasses, 0.03) << j;
}

TEST(Balance, OnlyBiasesThatCount) {
  grad::Parameter plain({4}, grad::Init::constant(0));
  EXPECT_THROW(BiasBalancer().state("norm", plain), Error);
}

}  // namespace
}  // namespace quern::optim
