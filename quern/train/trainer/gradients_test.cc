// How even loads are: one for even ones, nothing where all goes to one expert, the mean over layers, and silence
// where nothing was routed.
#include "quern/train/trainer/gradients.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quern::train {
namespace {

TEST(LoadBalance, IsEntropyByItsGreatestValue) {
  const std::vector<float> even{5, 5, 5, 5}, one{0, 9, 0, 0}, half{6, 0, 6, 0}, nothing{0, 0, 0, 0}, alone{7};
  EXPECT_NEAR(*load_balance({even}), 1, 1e-12);
  EXPECT_EQ(*load_balance({one}), 0);
  EXPECT_NEAR(*load_balance({half}), std::log(2.0) / std::log(4.0), 1e-12);
  EXPECT_NEAR(*load_balance({even, one}), 0.5, 1e-12);
  EXPECT_NEAR(*load_balance({nothing, half, alone}), 0.5, 1e-12);  // layers without a choice do not count
  EXPECT_EQ(load_balance({nothing, alone}), std::nullopt);
  EXPECT_EQ(load_balance({}), std::nullopt);
}

}  // namespace
}  // namespace quern::train
