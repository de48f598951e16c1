// Random keys in memories nobody has taught: what must be right is, and the rest is what an independent prototype
// found.
#include <gtest/gtest.h>

#include <algorithm>

#include "lab/ovq/store.h"
#include "quern/base/test_message.h"

namespace quern::lab {
namespace {

double of(const std::vector<double>& right, const char* memory,
          const std::vector<std::string>& names = store_memories()) {
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

TEST(Needles, WhatIsUnlikeTheRestGetsRows) {
  const auto of_needles = [](const std::vector<double>& right, const char* memory) {
    return of(right, memory, needle_memories());
  };
  const std::vector<double> spread = find_needles({.tokens = 1024}, 0),
                            front = find_needles({.tokens = 1024, .front = true}, 0);
  EXPECT_GT(of_needles(spread, "ovq"), of_needles(spread, "ovq-random-rows") + 0.2);
  EXPECT_GT(of_needles(spread, "ovq"), of_needles(spread, "ovq-greedy") + 0.2);  // its rows are gone by then
  EXPECT_GT(of_needles(front, "ovq-greedy"), 0.7);                               // here they are not
  EXPECT_LT(of_needles(front, "window"), 0.1);
  EXPECT_LT(of_needles(spread, "codebook"), 0.3);
}

TEST(Needles, FewKeysFitAWindow) {
  const std::vector<double> right = find_needles({.tokens = 128, .needles = 128}, 0);
  EXPECT_EQ(of(right, "window", needle_memories()), 1);
  EXPECT_EQ(of(right, "ovq-greedy", needle_memories()), 1);
}

TEST(Needles, MistakesAreNamed) {
  EXPECT_NE(message_of([] { find_needles({.tokens = 1000}, 0); }).find("multiple of the chunk, 64"),
            std::string::npos);
  EXPECT_NE(
      message_of([] { find_needles({.tokens = 64, .needles = 65}, 0); }).find("as many as there are needles, 65"),
      std::string::npos);
  EXPECT_NE(message_of([] { find_needles({.prototypes = 0}, 0); }).find("at least 1"), std::string::npos);
}

TEST(Store, MistakesAreNamed) {
  EXPECT_NE(message_of([] { store_and_ask({.items = 100}, 0); }).find("multiple of the chunk, 64"),
            std::string::npos);
  EXPECT_NE(message_of([] { store_and_ask({.items = 0}, 0); }).find("at least 1"), std::string::npos);
}

}  // namespace
}  // namespace quern::lab
