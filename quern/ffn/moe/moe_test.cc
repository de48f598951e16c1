// Routers and experts as layers: finite differences with the depth-averaged router chained over two blocks, both
// readings of the skip class, top-k; ties; the load that balancing reads; packed against plain.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/ffn/moe/moe_ffn.h"
#include "quern/nn/check_module.h"

namespace quern::ffn {
namespace {

ZayaRouterConfig router(bool depth, ZayaRouterConfig::Skip skip = ZayaRouterConfig::Skip::zero) {
  return {.width = 6, .router_width = 5, .n_experts = 3, .depth_average = depth, .skip = skip};
}

struct TwoBlocks : nn::Module {
  MoeFfn first, second;
  explicit TwoBlocks(ZayaRouterConfig::Skip skip) : first(router(false, skip), 4), second(router(true, skip), 4) {}
  void visit(const std::string& p, const nn::ParameterVisitor& v) override {
    first.visit(p + "0.", v), second.visit(p + "1.", v);
  }
};

TEST(ZayaMoe, FiniteDifferencesThroughTheDepthStream) {
  for (auto skip : {ZayaRouterConfig::Skip::zero, ZayaRouterConfig::Skip::identity}) {
    TwoBlocks m(skip);
    grad::NamedParameters p = nn::randomized(m, 21, 0.8);
    for (auto& [name, q] : p)  // let the skip class win now and then
      if (name.ends_with("balancing_biases")) q->value = Tensor::of<double>({4}, {0.05, -0.1, 0.1, 0.15});
    std::vector<int64_t> counts;
    grad::GradCheck c = grad::grad_check(
        [&](grad::Tape& t, const std::vector<grad::Var>& in) {
          DepthCarry carry;
          grad::Var a = m.first.forward(t, in[0], carry);
          grad::Var b = m.second.forward(t, in[1], carry);
          counts = m.first.last_counts();
          return std::vector<grad::Var>{a, b};
        },
        {grad::random_normal({12, 6}, 4), grad::random_normal({12, 6}, 5)}, p, 25, 1e-6);
    EXPECT_LT(c.worst, 1e-6) << c.where;
    EXPECT_GT(counts[3], 0) << "no token was skipped: the case is not covered";
    EXPECT_LT(counts[3], 12);
  }
}

TEST(ZayaMoe, FiniteDifferencesOfTheLinearRouter) {
  MoeFfn m({.width = 6, .n_experts = 3, .linear = true}, 4);
  grad::NamedParameters p = nn::randomized(m, 23, 0.8);
  for (auto& [name, q] : p) {
    EXPECT_TRUE(name == "gate.out_proj.weight" || name == "gate.balancing_biases" || name.starts_with("experts."))
        << name;
    if (name == "gate.balancing_biases") q->value = Tensor::of<double>({4}, {0.05, -0.1, 0.1, 0.1});
  }
  grad::GradCheck c = grad::grad_check(
      [&](grad::Tape& t, const std::vector<grad::Var>& in) {
        DepthCarry carry;
        grad::Var y = m.forward(t, in[0], carry);
        EXPECT_FALSE(carry.router_state.value.defined());
        return std::vector<grad::Var>{y};
      },
      {grad::random_normal({12, 6}, 4)}, p, 25, 1e-6);
  EXPECT_LT(c.worst, 1e-6) << c.where;
}

TEST(LinearMoe, FiniteDifferencesOfTopK) {
  for (TopKWeights weights : {TopKWeights::plain, TopKWeights::renormalized}) {
    MoeFfn m(std::make_unique<LinearRouter>(6, 4, 2, weights), 6, 5, 4);
    grad::NamedParameters p = nn::randomized(m, 31, 0.6);
    grad::GradCheck c = grad::grad_check(
        [&](grad::Tape& t, const std::vector<grad::Var>& in) {
          DepthCarry carry;
          return std::vector<grad::Var>{m.forward(t, in[0], carry)};
        },
        {grad::random_normal({7, 6}, 8)}, p, 25, 1e-6);
    EXPECT_LT(c.worst, 1e-6) << c.where;
  }
}

TEST(ZayaMoe, TiesGoToTheLowestClassAndBiasesSelectOnly) {
  MoeFfn m(router(false), 4);
  nn::initialize(m, 1);
  m.visit("", [](const std::string& name, grad::Parameter& p) {
    if (name == "gate.router_mlp.out_proj.weight") p.value.fill(0);  // every class equally likely
  });
  nn::ExpertRoutes log;
  log.start(2, 1);
  DepthCarry carry{.router_state = {}, .routes = {.record = &log}};
  grad::Tape t(grad::Tape::inference);
  Tensor x = grad::random_normal({2, 6}, 2, DType::f32);
  m.forward(t, grad::Var(x), carry);
  EXPECT_EQ(log.ids, (std::vector<uint8_t>{0, 0}));
  auto& biases = static_cast<ZayaRouter&>(m.router()).balancing_biases();
  EXPECT_EQ(biases.value.item(3), -1);
  biases.value = Tensor::of<float>({4}, {0, 0.1f, 0.2f, 0.3f});
  DepthCarry again;
  Tensor y = m.forward(t, grad::Var(x), again).value;
  EXPECT_EQ(m.last_counts(), (std::vector<int64_t>{0, 0, 0, 2}));
  for (int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(y.item(i), 0);
}

TEST(ZayaMoe, PackedEqualsPlain) {
  MoeFfn m(router(false), 4);
  nn::initialize(m, 7);
  Tensor x = grad::random_normal({33, 6}, 2, DType::f32, 3);
  grad::Tape t(grad::Tape::inference);
  DepthCarry a, b;
  Tensor plain = m.forward(t, grad::Var(x), a).value;
  m.pack(DType::f32);
  Tensor packed = m.forward(t, grad::Var(x), b).value;
  for (int64_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain.item(i), packed.item(i), 1e-7);
}

// Choices recorded in one pass and replayed in another whose router would choose otherwise: the recorded experts work,
// by weights of the live router, and gradients reach it.
TEST(ZayaMoe, ReplayedRoutesPinTheChoiceAndNotTheWeights) {
  MoeFfn m(router(false), 4);
  grad::NamedParameters p = nn::randomized(m, 21, 0.8);
  grad::Parameter& biases = static_cast<ZayaRouter&>(m.router()).balancing_biases();
  biases.value = Tensor::of<double>({4}, {0.05, -0.1, 0.1, 0.15});
  const Tensor x = grad::random_normal({12, 6}, 4);
  nn::ExpertRoutes routes, seen;
  routes.start(12, 3), seen.start(12, 3);  // a model of three layers; this is the second
  for (size_t t = 0; t < 12; ++t) routes.ids[3 * t + 1] = static_cast<uint8_t>(t % 4);
  routes.ids[1] = nn::ExpertRoutes::kFree;
  const auto run = [&](grad::Tape& t, const std::vector<grad::Var>& in, const nn::ExpertRoutes* replay) {
    DepthCarry carry{.router_state = {}, .routes = {.record = &seen, .replay = replay, .first = 1}};
    return m.forward(t, in[0], carry);
  };
  grad::Tape t(grad::Tape::inference);
  run(t, {grad::Var(x)}, nullptr);
  const nn::ExpertRoutes own = seen;
  const Tensor y = run(t, {grad::Var(x)}, &routes).value;
  EXPECT_EQ(seen.ids[1], own.ids[1]) << "a free slot is the router's choice";
  for (size_t i = 1; i < 12; ++i) EXPECT_EQ(seen.ids[3 * i + 1], i % 4);
  EXPECT_EQ(seen.ids[0], nn::ExpertRoutes::kFree) << "another layer's slot";
  EXPECT_NE(own.ids, seen.ids);

  // Pinning what the router chooses anyway changes nothing.
  const Tensor plain = run(t, {grad::Var(x)}, nullptr).value;
  const nn::ExpertRoutes chosen = seen;
  const Tensor same = run(t, {grad::Var(x)}, &chosen).value;
  for (int64_t i = 0; i < plain.size(); ++i) EXPECT_EQ(plain.item(i), same.item(i));

  // One id flipped changes that token alone.
  nn::ExpertRoutes flipped = routes;
  flipped.ids[3 * 5 + 1] = 2;
  const Tensor other = run(t, {grad::Var(x)}, &flipped).value;
  for (int64_t i = 0; i < y.size(); ++i) {
    if (i / 6 != 5) {
      EXPECT_EQ(other.item(i), y.item(i));
    }
  }
  EXPECT_NE(other.item(30), y.item(30));

  const grad::GradCheck c = grad::grad_check(
      [&](grad::Tape& tape, const std::vector<grad::Var>& in) {
        return std::vector<grad::Var>{run(tape, in, &routes)};
      },
      {x}, p, 25, 1e-6);
  EXPECT_LT(c.worst, 1e-6) << c.where;
  for (auto& [name, q] : p) {
    if (name == "gate.router_mlp.out_proj.weight") {
      EXPECT_TRUE(q->grad.defined()) << "no gradient reached the router";
    }
  }

  nn::ExpertRoutes wrong = routes;
  wrong.ids[4] = 4;
  EXPECT_THROW(run(t, {grad::Var(x)}, &wrong), Error);
  wrong.start(11, 3);
  EXPECT_THROW(run(t, {grad::Var(x)}, &wrong), Error);
}

TEST(MoeConfig, ImpossibleSizesAreErrors) {
  EXPECT_THROW(MoeFfn(router(false), 0), Error);
  EXPECT_THROW(MoeFfn({.width = 6, .router_width = 0, .n_experts = 3}, 4), Error);
  EXPECT_THROW(LinearRouter(6, 4, 5, TopKWeights::plain), Error);
}

// Every training forward adds the tokens of each class to the balancing biases' grad; inference leaves it alone.
TEST(MoeRouter, TrainingCountsTheLoad) {
  MoeFfn m(router(false), 4);
  nn::initialize(m, 3);
  grad::Parameter& biases = static_cast<ZayaRouter&>(m.router()).balancing_biases();
  Tensor x = grad::random_normal({9, 6}, 5, DType::f32);
  DepthCarry carry;
  {
    grad::Tape inference(grad::Tape::inference);
    m.forward(inference, grad::Var(x), carry);
  }
  EXPECT_FALSE(biases.grad.defined());
  for (int pass = 1; pass <= 2; ++pass) {
    grad::Tape tape;
    m.forward(tape, grad::Var(x), carry);
    double total = 0;
    for (int64_t j = 0; j < 4; ++j) {
      EXPECT_EQ(biases.grad.item(j), pass * static_cast<double>(m.last_counts()[static_cast<size_t>(j)]));
      total += biases.grad.item(j);
    }
    EXPECT_EQ(total, 9 * pass);
  }
}

}  // namespace
}  // namespace quern::ffn
