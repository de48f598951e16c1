#include "quern/base/disjoint_sets.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(DisjointSets, JoinsAndCounts) {
  DisjointSets s(6);
  for (uint32_t v = 0; v < 6; ++v) EXPECT_EQ(s.root(v), v);
  EXPECT_EQ(s.join(0, 3), 2u);
  EXPECT_EQ(s.join(4, 5), 2u);
  EXPECT_EQ(s.join(3, 4), 4u);
  EXPECT_EQ(s.join(0, 5), 4u);  // together already
  EXPECT_EQ(s.root(0), s.root(5));
  EXPECT_NE(s.root(0), s.root(1));
  EXPECT_EQ(s.root(1), 1u);
  EXPECT_EQ(s.join(1, 2), 2u);
}

}  // namespace
}  // namespace quern
