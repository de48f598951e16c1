// Credit rules: automatic differentiation's numbers; backwards, forwards and with whole Jacobians the same; where
// rules must agree they do, and elsewhere they do not.
#include <gtest/gtest.h>

#include <cmath>

#include "lab/eprop/credit_case.h"
#include "lab/eprop/study.h"
#include "quern/base/test_message.h"

namespace quern::lab {
namespace {

const StackShape kDeep = {
    .inputs = 4, .units = 7, .classes = 3, .leak = {0.5, 0.2, 0.05}, .diagonal = false, .biases = true};

const Json& golden() {
  static const Json j = Json::read(std::string(QUERN_SOURCE_DIR) + "/tests/goldens/learn/eprop.json");
  return j;
}

TEST(Credit, EqualsAutomaticDifferentiation) {
  const Json& g = golden();
  const CreditCase k = golden_case(g);
  ASSERT_EQ(g.at("rules").as_object().size(), 5u);
  for (const auto& [name, expected] : g.at("rules").as_object()) {
    SCOPED_TRACE(name);
    const StackWeights e = weights_of(expected.at("layers"), expected.at("readout"));
    EXPECT_LT(distance(k.adjoint(credit_rule(name)), e), kExact);
    EXPECT_LT(distance(name == "bptt" ? k.rtrl() : k.trace(credit_rule(name)), e), kExact);
    EXPECT_NEAR(k.run().loss, expected.at("loss").as_double(), kExact);
  }
}

TEST(Credit, BackwardsEqualsForwards) {
  for (const std::vector<double>& leak : {std::vector{0.3}, {0.5, 0.05}, {0.5, 0.2, 0.1, 0.05}}) {
    StackShape s = kDeep;
    s.leak = leak;
    const CreditCase k = random_case(s);
    EXPECT_LT(distance(k.rtrl(), k.adjoint(CreditRule::bptt)), kExact);
    for (CreditRule rule : kCreditRules)
      if (rule != CreditRule::bptt) {
        EXPECT_LT(distance(k.trace(rule), k.adjoint(rule)), kExact) << name_of(rule) << ", " << leak.size();
      }
  }
}

TEST(Credit, GatesOfTwelveUnits) {
  const CreditCase k = random_case({.inputs = 5, .units = 12, .classes = 2, .leak = {0.5, 0.05}}, 22, 8);
  EXPECT_LT(distance(k.trace(CreditRule::full), k.adjoint(CreditRule::full)), kExact);
  EXPECT_LT(distance(k.rtrl(), k.adjoint(CreditRule::bptt)), kExact);
}

TEST(Credit, DiagonalRecurrenceIsExact) {
  StackShape s = kDeep;
  s.diagonal = true;
  const CreditCase k = random_case(s, 20);
  EXPECT_LT(distance(k.adjoint(CreditRule::full), k.adjoint(CreditRule::bptt)), kExact);
  EXPECT_LT(distance(k.trace(CreditRule::full), k.rtrl()), kExact);
  EXPECT_GT(distance(k.adjoint(CreditRule::ablate_temporal), k.adjoint(CreditRule::bptt)), 0.1);
}

TEST(Credit, RulesDifferWhereTheyShould) {
  const CreditCase k = random_case(kDeep, 20);
  const StackWeights truth = k.adjoint(CreditRule::bptt);
  for (CreditRule rule : kCreditRules)
    if (rule != CreditRule::bptt) {
      EXPECT_GT(distance(k.adjoint(rule), truth), 0.01) << name_of(rule);
    }
  const StackWeights still = k.adjoint(CreditRule::ablate_spatial), full = k.adjoint(CreditRule::full);
  EXPECT_EQ(cosine(still.layers[0], truth.layers[0]), 0);
  EXPECT_EQ(still.layers[2].w, full.layers[2].w);
  EXPECT_EQ(k.adjoint(CreditRule::readout).v, truth.v);
  EXPECT_EQ(cosine(k.adjoint(CreditRule::readout).layers[2], truth.layers[2]), 0);
}

TEST(Credit, WithoutMemoryRulesAgree) {
  StackShape s = kDeep;
  s.leak = {1, 1, 1};
  CreditCase k = random_case(s);
  for (LayerWeights& l : k.weights.layers) std::fill(l.w.begin(), l.w.end(), 0.0);
  for (CreditRule rule : {CreditRule::full, CreditRule::ablate_temporal, CreditRule::no_carry})
    EXPECT_LT(distance(k.adjoint(rule), k.adjoint(CreditRule::bptt)), kExact) << name_of(rule);
}

TEST(Credit, EqualsDifferencesOfTheLoss) {
  CreditCase k = random_case(kDeep);
  const StackWeights g = k.adjoint(CreditRule::bptt);
  Rng rng(5);
  for (int round = 0; round < 40; ++round) {
    const size_t l = rng.below(3);
    std::vector<double>& w = round % 2 ? k.weights.layers[l].w : k.weights.layers[l].f;
    const std::vector<double>& d = round % 2 ? g.layers[l].w : g.layers[l].f;
    const size_t i = rng.below(w.size());
    const double kept = w[i], step = 1e-5;
    w[i] = kept + step;
    const double up = k.run().loss;
    w[i] = kept - step;
    const double down = k.run().loss;
    w[i] = kept;
    EXPECT_NEAR((up - down) / (2 * step), d[i], 1e-9);
  }
}

TEST(Stack, RadiusIsTheLargestEigenvalue) {
  EXPECT_NEAR(spectral_radius(flat(golden().at("matrix")), 9), golden().at("radius").as_double(), 1e-7);
  EXPECT_NEAR(spectral_radius({0.6, -0.8, 0.8, 0.6}, 2), 1, 1e-11);  // a rotation: no real eigenvalue
  EXPECT_EQ(spectral_radius({0, 1, 0, 0}, 2), 0);
  Rng rng(1);
  const StackShape s = {.units = 16};
  EXPECT_NEAR(spectral_radius(random_weights(s, rng, 0.9).layers[1].w, 16), 0.9, 1e-7);
}

TEST(Stack, RefusesBadShapes) {
  EXPECT_NE(message_of([] { check(StackShape{.leak = {0.5, 0}}); }).find("leak 0"), std::string::npos);
  EXPECT_NE(message_of([] { check(StackShape{.leak = {}}); }).find("leak"), std::string::npos);
  EXPECT_NE(message_of([] { check(StackShape{.units = 0}); }).find("units 0"), std::string::npos);
  EXPECT_NE(message_of([] { credit_rule("half"); }).find("'half'"), std::string::npos);
}

TEST(Task, MotifAsksForTheMajority) {
  Rng rng(3);
  const Episodes e = draw_episodes({.task = EpropTask::motif, .delay = 4, .noise = 0}, 64, rng);
  ASSERT_EQ(e.steps, 20);
  const auto at = [&](int64_t t, int64_t channel, int64_t b) {
    return e.x[static_cast<size_t>((t * 5 + channel) * 64 + b)];
  };
  int ups = 0;
  for (int64_t b = 0; b < 64; ++b) {
    int up = 0;
    for (int64_t k = 0; k < 3; ++k) {
      EXPECT_EQ(at(5 * k, 0, b), -at(5 * k + 2, 0, b));
      EXPECT_EQ(std::abs(at(5 * k, 0, b)), 2);
      EXPECT_EQ(at(5 * k + 1, 1 + k, b), 1);
      EXPECT_EQ(at(5 * k + 3, 1 + k, b), 0);
      up += at(5 * k + 2, 0, b) > 0 ? 1 : -1;
    }
    for (int64_t t = 0; t < 20; ++t) {
      EXPECT_EQ(at(t, 4, b), t == 19 ? 1 : 0);
      EXPECT_EQ(e.label[static_cast<size_t>(t * 64 + b)], t == 19 ? (up > 0 ? 1 : 0) : -1);
    }
    ups += up > 0;
  }
  EXPECT_GT(ups, 10);
  EXPECT_LT(ups, 54);
  EXPECT_NE(message_of([&] { draw_episodes({.delay = -1}, 1, rng); }).find("delay -1"), std::string::npos);
}

TEST(Task, EvidenceAsksForTheSideOfMost) {
  Rng rng(4);
  const Episodes e = draw_episodes({.task = EpropTask::evidence, .delay = 5, .noise = 0}, 32, rng);
  ASSERT_EQ(e.steps, 27);
  const auto at = [&](int64_t t, int64_t channel, int64_t b) {
    return e.x[static_cast<size_t>((t * 3 + channel) * 32 + b)];
  };
  int rights = 0;
  for (int64_t b = 0; b < 32; ++b) {
    int more = 0;
    for (int64_t k = 0; k < 7; ++k) {
      more += at(3 * k, 1, b) > 0 ? 1 : -1;
      EXPECT_EQ(at(3 * k, 0, b) + at(3 * k, 1, b), 1);
      EXPECT_EQ(at(3 * k + 1, 1, b), at(3 * k, 1, b));
      EXPECT_EQ(at(3 * k + 2, 0, b) + at(3 * k + 2, 1, b), 0);
    }
    EXPECT_EQ(at(26, 2, b), 1);
    EXPECT_EQ(e.label[static_cast<size_t>(26 * 32 + b)], more > 0 ? 1 : 0);
    rights += more > 0;
  }
  EXPECT_GT(rights, 5);
  EXPECT_LT(rights, 27);
}

TEST(Study, CosinesAreOrderedAndDiagonalOnesAreOne) {
  CosineOptions o{.shape = {.units = 16}, .task = {.delay = 12}, .batch = 64, .seeds = 4};
  auto c = gradient_cosines(o);
  EXPECT_NEAR(c[0][0], 1, kExact);
  EXPECT_GT(c[1][0], c[2][0]);  // full, ablate-temporal
  EXPECT_GT(c[2][0], 0);
  EXPECT_EQ(c[3][0], 0);  // ablate-spatial
  EXPECT_EQ(c[1][1], c[3][1]);
  o.shape.diagonal = true;
  c = gradient_cosines(o);
  EXPECT_NEAR(c[1][0], 1, kExact);
  EXPECT_NEAR(c[1][1], 1, kExact);
}

TEST(Study, AdamLearnsByTheGradientAndNotByTheReadoutAlone) {
  LearnOptions o{.shape = {.units = 12},
                 .task = {.delay = 2},
                 .rule = CreditRule::bptt,
                 .rate = 5e-3,
                 .steps = 200,
                 .test_episodes = 500};
  const LearnOutcome by_gradient = learn_task(o);
  EXPECT_GT(by_gradient.learned_at, 20);
  EXPECT_GT(by_gradient.accuracy, 0.95);
  o.rule = CreditRule::readout;
  EXPECT_LT(learn_task(o).accuracy, by_gradient.accuracy - 0.1);
}

TEST(Study, TracesTakeCubesOfNumbers) {
  EXPECT_EQ(trace_numbers({.inputs = 5, .units = 8, .leak = {0.5, 0.05}}), 8 * 14 * 9 + 8 * 17);
  EXPECT_EQ(geometric_leaks(2), (std::vector<double>{0.5, 0.05}));
}

}  // namespace
}  // namespace quern::lab
