// LossSpikeDetector: the line it draws, patience, and that its memory travels.
#include "quern/train/trainer/loss_spike_detector.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quern::train {
namespace {

using LossState = LossSpikeDetector::LossState;

TEST(LossSpikeDetector, SaysNothingUntilItKnowsWhatIsOrdinary) {
  LossSpikeDetector w({.window = 10, .patience = 2, .mads = 5, .min_increase = 0.5});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(w.see(3.0 + 0.01 * i), LossState::fine);
  EXPECT_TRUE(std::isinf(w.line()));
  EXPECT_EQ(w.see(100), LossState::fine) << "the fifth of ten";
}

TEST(LossSpikeDetector, PatienceAndTheLine) {
  LossSpikeDetector w({.window = 10, .patience = 3, .mads = 5, .min_increase = 0.5});
  for (int i = 0; i < 10; ++i) w.see(2 + 0.1 * (i % 3));  // median 2.1, deviations 0, 0.1: median 0.1
  EXPECT_NEAR(w.line(), 2.6, 1e-9);
  EXPECT_EQ(w.see(2.59), LossState::fine);
  EXPECT_EQ(w.see(5), LossState::high);
  EXPECT_EQ(w.see(5), LossState::high);
  EXPECT_EQ(w.see(2.2), LossState::fine) << "one ordinary loss ends the row";
  EXPECT_EQ(w.see(5), LossState::high);
  EXPECT_EQ(w.see(5), LossState::high);
  LossSpikeDetector other({.window = 10, .patience = 3, .mads = 5, .min_increase = 0.5});
  other.load(Json::parse(w.save().dump()));
  EXPECT_EQ(other.line(), w.line());
  EXPECT_EQ(other.see(5), LossState::spike);
  EXPECT_EQ(w.see(5), LossState::spike);
  EXPECT_EQ(w.see(std::nan("")), LossState::not_a_number);
  EXPECT_EQ(w.see(INFINITY), LossState::not_a_number);
}

TEST(LossSpikeDetector, AWindowOfZeroLooksForNumbersOnly) {
  LossSpikeDetector w({.window = 0});
  for (double x : {1.0, 100.0, 1e6}) EXPECT_EQ(w.see(x), LossState::fine);
  EXPECT_EQ(w.see(std::nan("")), LossState::not_a_number);
}

TEST(LossSpikeDetector, FaultsAreSaidInWords) {
  LossSpikeDetector w({.window = 4, .patience = 2, .mads = 1, .min_increase = 0.5});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(w.fault(2, 1), std::nullopt);
  EXPECT_EQ(w.fault(9, 1), std::nullopt);  // high once
  EXPECT_EQ(w.fault(9, 1), "loss 9.0000 stayed above 2.5000");
  const double nan = std::nan("");
  EXPECT_EQ(w.fault(2, nan), "loss 2 and gradient norm nan are not both finite");
  EXPECT_EQ(w.fault(nan, 1), "loss nan and gradient norm 1 are not both finite");
}

}  // namespace
}  // namespace quern::train
