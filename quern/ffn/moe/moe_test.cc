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
  std::vector<std::vector<int32_t>> log;
  DepthCarry carry;
  carry.expert_log = &log;
  grad::Tape t(grad::Tape::inference);
  Tensor x = grad::random_normal({2, 6}, 2, DType::f32);
  m.forward(t, grad::Var(x), carry);
  EXPECT_EQ(log[0], (std::vector<int32_t>{0, 0}));
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
