// Credit rules in stacks that spike: automatic differentiation's numbers, backwards and forwards the same, a single
// unit by hand, and that the gradient teaches.
#include "lab/eprop/spiking.h"

#include "lab/eprop/credit_case.h"
#include "lab/eprop/study.h"
#include "quern/base/test_message.h"

namespace quern::lab {
namespace {

StackShape deep_spiking() {
  return {.inputs = 4,
          .units = 6,
          .classes = 3,
          .leak = {0.5, 0.2, 0.1},
          .diagonal = false,
          .biases = true,
          .spiking = {.on = true, .adapt_steps = 6}};
}

double rate(const StackRun& r, size_t layer) {
  double sum = 0;
  for (double z : r.h[layer]) sum += z;
  return sum / static_cast<double>(r.h[layer].size());
}

TEST(Spiking, EqualsAutomaticDifferentiation) {
  const Json g = Json::read(std::string(QUERN_SOURCE_DIR) + "/tests/goldens/learn/spiking.json");
  CreditCase k = golden_case(g);
  k.shape.spiking = {.on = true,
                     .threshold = g.at("threshold").as_double(),
                     .damping = g.at("damping").as_double(),
                     .adaptive = 0.5,
                     .adapt_steps = g.at("adapt_steps").as_double(),
                     .adapt_strength = g.at("adapt_strength").as_double(),
                     .readout_keep = g.at("readout_keep").as_double()};
  const std::vector<double> rates = flat(g.at("rates"));
  for (size_t l = 0; l < 3; ++l) EXPECT_NEAR(rate(k.run(), l), rates[l], 1e-12);
  ASSERT_EQ(g.at("rules").as_object().size(), 5u);
  for (const auto& [name, expected] : g.at("rules").as_object()) {
    SCOPED_TRACE(name);
    const StackWeights e = weights_of(expected.at("layers"), expected.at("readout"));
    EXPECT_LT(distance(k.adjoint(credit_rule(name)), e), kExact);
    EXPECT_LT(distance(name == "bptt" ? k.rtrl() : k.trace(credit_rule(name)), e), kExact);
    EXPECT_NEAR(k.run().loss, expected.at("loss").as_double(), kExact);
  }
}

TEST(Spiking, BackwardsEqualsForwards) {
  for (const std::vector<double>& leak : {std::vector{0.3}, {0.5, 0.05}, {0.5, 0.2, 0.1, 0.05}}) {
    StackShape s = deep_spiking();
    s.leak = leak;
    const CreditCase k = random_case(s, 14);
    for (size_t l = 0; l < leak.size(); ++l) {
      EXPECT_GT(rate(k.run(), l), 0.05);
      EXPECT_LT(rate(k.run(), l), 0.95);
    }
    EXPECT_LT(distance(k.rtrl(), k.adjoint(CreditRule::bptt)), kExact);
    for (CreditRule rule : kCreditRules)
      if (rule != CreditRule::bptt) {
        EXPECT_LT(distance(k.trace(rule), k.adjoint(rule)), kExact) << name_of(rule) << ", " << leak.size();
      }
  }
}

TEST(Spiking, DiagonalRecurrenceIsExactAndNothingElse) {
  StackShape s = deep_spiking();
  const CreditCase whole = random_case(s, 20);
  for (CreditRule rule : kCreditRules)
    if (rule != CreditRule::bptt) {
      EXPECT_GT(distance(whole.adjoint(rule), whole.adjoint(CreditRule::bptt)), 0.01) << name_of(rule);
    }
  s.diagonal = true;
  const CreditCase k = random_case(s, 20);
  EXPECT_LT(distance(k.adjoint(CreditRule::full), k.adjoint(CreditRule::bptt)), kExact);
  EXPECT_LT(distance(k.trace(CreditRule::full), k.rtrl()), kExact);
  EXPECT_GT(distance(k.adjoint(CreditRule::ablate_temporal), k.adjoint(CreditRule::bptt)), 0.005);
}

// One unit that adapts, driven by 1 at every step: θ 0.5, leak 0.5, ρ = e^{-1/2}, β = 1 · (1 − ρ) / 0.5.
TEST(Spiking, OneUnitByHand) {
  StackShape s{.inputs = 1, .units = 1, .classes = 2, .leak = {0.5}};
  s.spiking = {.on = true, .threshold = 0.5, .damping = 0.3, .adaptive = 1, .adapt_steps = 2, .adapt_strength = 1};
  StackWeights w = zero_weights(s);
  w.layers[0].f = {0.8};
  const StackRun r = run_stack(s, w, {.steps = 4, .batch = 1, .x = {1, 1, 1, 1}, .label = {-1, -1, -1, 0}});
  const double rho = std::exp(-0.5), beta = (1 - rho) / 0.5;
  double v = 0, a = 0, z = 0;
  for (size_t t = 0; t < 4; ++t) {
    v = 0.5 * v + 0.8 - 0.5 * z, a = rho * a + z;
    const double over = v - 0.5 - beta * a;
    z = over > 0 ? 1 : 0;
    EXPECT_EQ(r.h[0][t], z) << t;
    EXPECT_NEAR(r.psi[0][t], 0.3 / 0.5 * std::max(0.0, 1 - std::abs(over) / 0.5), 1e-15) << t;
  }
  EXPECT_EQ(r.h[0], (std::vector<double>{1, 0, 1, 0}));  // over by 0.3, under by 0.59, over by 0.17, under by 0.7
}

TEST(Spiking, TheGradientTeachesAndTheReadoutAloneDoesNot) {
  StackShape s{.inputs = 3, .units = 16, .leak = {0.3, 0.1}};
  s.spiking = {.on = true, .adapt_steps = 40};
  LearnOptions o{.shape = s,
                 .task = {.task = EpropTask::recall, .delay = 12},
                 .rule = CreditRule::full,
                 .rate = 1e-2,
                 .steps = 250,
                 .test_episodes = 500};
  const LearnOutcome by_rule = learn_task(o);
  EXPECT_GT(by_rule.accuracy, 0.9);
  o.rule = CreditRule::readout;
  EXPECT_LT(learn_task(o).accuracy, by_rule.accuracy - 0.1);
}

TEST(Spiking, RefusesBadUnits) {
  const auto told = [](SpikingUnits u) { return message_of([&] { check(u); }); };
  EXPECT_NE(told({.threshold = 0}).find("threshold 0"), std::string::npos);
  EXPECT_NE(told({.adaptive = 2}).find("adaptive 2"), std::string::npos);
  EXPECT_NE(told({.adapt_steps = 0}).find("adapt steps 0"), std::string::npos);
  EXPECT_NE(told({.readout_keep = 1}).find("readout keeps 1"), std::string::npos);
  EXPECT_EQ(told({}), "");
}

}  // namespace
}  // namespace quern::lab
