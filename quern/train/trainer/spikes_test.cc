// SpikeWatch: the line it draws, patience, and that its memory travels.
#include "quern/train/trainer/spikes.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quern {
namespace {

using Verdict = SpikeWatch::Verdict;

TEST(SpikeWatch, SaysNothingUntilItKnowsWhatIsOrdinary) {
  SpikeWatch w({.window = 10, .patience = 2, .mads = 5, .min_increase = 0.5});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(w.see(3.0 + 0.01 * i), Verdict::fine);
  EXPECT_TRUE(std::isinf(w.line()));
  EXPECT_EQ(w.see(100), Verdict::fine) << "the fifth of ten";
}

TEST(SpikeWatch, PatienceAndTheLine) {
  SpikeWatch w({.window = 10, .patience = 3, .mads = 5, .min_increase = 0.5});
  for (int i = 0; i < 10; ++i) w.see(2 + 0.1 * (i % 3));  // median 2.1, deviations 0, 0.1: median 0.1
  EXPECT_NEAR(w.line(), 2.6, 1e-9);
  EXPECT_EQ(w.see(2.59), Verdict::fine);
  EXPECT_EQ(w.see(5), Verdict::high);
  EXPECT_EQ(w.see(5), Verdict::high);
  EXPECT_EQ(w.see(2.2), Verdict::fine) << "one ordinary loss ends the row";
  EXPECT_EQ(w.see(5), Verdict::high);
  EXPECT_EQ(w.see(5), Verdict::high);
  SpikeWatch other({.window = 10, .patience = 3, .mads = 5, .min_increase = 0.5});
  other.load(Json::parse(w.save().dump()));
  EXPECT_EQ(other.line(), w.line());
  EXPECT_EQ(other.see(5), Verdict::spike);
  EXPECT_EQ(w.see(5), Verdict::spike);
  EXPECT_EQ(w.see(std::nan("")), Verdict::not_a_number);
  EXPECT_EQ(w.see(INFINITY), Verdict::not_a_number);
}

TEST(SpikeWatch, AWindowOfZeroLooksForNumbersOnly) {
  SpikeWatch w({.window = 0});
  for (double x : {1.0, 100.0, 1e6}) EXPECT_EQ(w.see(x), Verdict::fine);
  EXPECT_EQ(w.see(std::nan("")), Verdict::not_a_number);
}

}  // namespace
}  // namespace quern
