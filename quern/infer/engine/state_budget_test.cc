// Bytes from declared parts, and the limit's arithmetic.
#include "quern/infer/engine/state_budget.h"

#include <gtest/gtest.h>

namespace quern::infer {
namespace {

// Rows of 4 floats (16 bytes), and a recurrent part of `fixed` floats.
std::vector<mixers::StateSite> sites(int64_t fixed) {
  return {{0,
           0,
           {{{.name = "k", .per_token = true, .shape = {1, 4}},
             {.name = "ssm", .shape = {fixed}, .snapshots_inside = true}}}}};
}

TEST(StateBudget, NeedsRowsAndRecurrentStateAndRollbackPoints) {
  const StateBudget light(sites(10), 0), heavy(sites(1000), 0);
  EXPECT_EQ(light.need(100, 0), 100 * 16 + 40);
  EXPECT_EQ(light.need(100, 5), 100 * 16 + 40 * 6) << "a rollback point for every draft token";
  EXPECT_EQ(heavy.need(100, 5), 100 * 16 + 4000 * 2) << "one, before the draft";
}

TEST(StateBudget, FitsWhileTheSumIsWithinTheLimit) {
  StateBudget b(sites(10), 1000);
  EXPECT_TRUE(b.fits_alone(1000));
  EXPECT_FALSE(b.fits_alone(1001));
  b.reserve(600);
  EXPECT_TRUE(b.fits_now(400));
  EXPECT_FALSE(b.fits_now(401));
  b.reserve(400), b.release(600);
  EXPECT_EQ(b.reserved(), 400);
  EXPECT_TRUE(b.fits_now(600));
  EXPECT_TRUE(StateBudget(sites(10), 0).fits_now(int64_t{1} << 60)) << "no limit";
}

}  // namespace
}  // namespace quern::infer
