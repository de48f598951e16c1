// The price of a row, from seconds of steps with different numbers of rows.
#include "quern/infer/speculation/batch_cost_model.h"

#include <gtest/gtest.h>

namespace quern::infer {
namespace {

TEST(BatchCostModel, IsTheSlopeOverTheStep) {
  BatchCostModel p;
  EXPECT_EQ(p.one_more_than(1), BatchCostModel::kDefault);
  EXPECT_EQ(p.seconds(1), 0);
  for (int i = 0; i < 20; ++i) p.record(1, 0.1);
  EXPECT_EQ(p.one_more_than(1), BatchCostModel::kDefault) << "one number of rows says nothing";
  EXPECT_NEAR(p.seconds(1), 0.1, 1e-6) << "but of itself";
  for (int i = 0; i < 20; ++i) p.record(1 + i % 4, 0.09 + 0.01 * (1 + i % 4));
  EXPECT_NEAR(p.one_more_than(1), 0.1, 1e-3);
  EXPECT_NEAR(p.one_more_than(11), 0.05, 1e-3);
  EXPECT_NEAR(p.seconds(11), 0.2, 1e-3);
}

TEST(BatchCostModel, ForgetsAndStaysWithinBounds) {
  BatchCostModel p;
  for (int i = 0; i < 50; ++i) p.record(1 + i % 2, 0.1);
  EXPECT_EQ(p.one_more_than(1), BatchCostModel::kMin);
  for (int i = 0; i < 400; ++i) p.record(1 + i % 2, 0.1 * (1 + i % 2));
  EXPECT_NEAR(p.one_more_than(1), BatchCostModel::kMax, 1e-2);
  for (int i = 0; i < 400; ++i) p.record(1 + i % 2, 0.05 + 0.05 * (1 + i % 2));
  EXPECT_NEAR(p.one_more_than(1), 0.5, 1e-3);
}

}  // namespace
}  // namespace quern::infer
