// Random keys in memories nobody has taught: what must be right is, and the rest is what an independent prototype
// found.
#include <gtest/gtest.h>

#include <algorithm>

#include "quern/base/test_message.h"
#include "quern/learn/ovq/store.h"

namespace quern {
namespace {

double of(const std::vector<double>& right, const char* memory) {
  const auto& names = store_memories();
  return right[static_cast<size_t>(std::find(names.begin(), names.end(), memory) - names.begin())];
}

TEST(Store, FewItemsManyItems) {
  const std::vector<double> few = store_and_ask({.items = 64}, 0), many = store_and_ask({.items = 1024}, 0);
  for (const char* exact : {"softmax", "ovq-greedy", "linear"}) EXPECT_EQ(of(few, exact), 1) << exact;
  EXPECT_NEAR(of(few, "ovq"), 0.79, 0.08);  // 51 of 64 rows
  EXPECT_NEAR(of(few, "delta"), 0.93, 0.08);
  EXPECT_EQ(of(many, "softmax"), 1);
  EXPECT_NEAR(of(many, "ovq"), 0.23, 0.06);
  EXPECT_NEAR(of(many, "ovq-greedy"), 0.27, 0.06);
  EXPECT_NEAR(of(many, "linear"), 0.30, 0.07);
  EXPECT_NEAR(of(many, "delta"), 0.08, 0.05);
}

TEST(Store, RepetitionIsWhatRowsAreFor) {
  const std::vector<double> right = store_and_ask({.items = 128, .repeats = 8}, 0);
  EXPECT_GT(of(right, "ovq"), 0.97);
  EXPECT_GT(of(right, "ovq"), of(right, "ovq-random-rows"));
  EXPECT_GT(of(right, "ovq"), of(right, "codebook") + 0.1);
}

TEST(Store, MistakesAreNamed) {
  EXPECT_NE(message_of([] { store_and_ask({.items = 100}, 0); }).find("multiple of the chunk, 64"),
            std::string::npos);
  EXPECT_NE(message_of([] { store_and_ask({.items = 0}, 0); }).find("at least 1"), std::string::npos);
}

}  // namespace
}  // namespace quern
