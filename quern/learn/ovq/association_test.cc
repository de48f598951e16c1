// The tasks are what they say, and a model learns one of them a little; the study is the same twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "quern/base/test_message.h"
#include "quern/learn/ovq/association_study.h"

namespace quern {
namespace {

const Registry& everything() {
  static const Registry* r = [] {
    auto* made = new Registry;
    register_everything(*made);
    return made;
  }();
  return *r;
}

TEST(Association, KeysAreAskedForTheirValues) {
  const Associations a = make_associations(Association::mqar, 5, 3, 1, 0);
  ASSERT_EQ(a.length, 20);
  ASSERT_EQ(a.ids.size(), 60u);
  for (int64_t r = 0; r < 3; ++r) {
    const auto ids = a.ids.begin() + r * 20, targets = a.targets.begin() + r * 20;
    std::set<int32_t> asked;
    for (int64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(ids[i] < kAssociationKeys, i % 2 == 0);
      if (i < 10 || i % 2) {
        EXPECT_EQ(targets[i], -1);
        continue;
      }
      const int64_t first = std::find(ids, ids + 10, ids[i]) - ids;
      ASSERT_LT(first, 10);
      EXPECT_EQ(targets[i], ids[first + 1]);
      asked.insert(ids[i]);
    }
    EXPECT_EQ(asked.size(), 5u);
  }
  // An example does not depend on those before it.
  EXPECT_EQ(make_associations(Association::mqar, 5, 1, 1, 2).ids,
            std::vector<int32_t>(a.ids.begin() + 40, a.ids.end()));
}

TEST(Association, CopiesAreSaidAgain) {
  const Associations a = make_associations(Association::copy, 6, 1, 1, 0);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(a.ids[i], a.ids[6 + i]);
    EXPECT_EQ(a.targets[i], -1);
    EXPECT_EQ(a.targets[6 + i], i < 5 ? a.ids[i + 1] : -1);
  }
  EXPECT_EQ(std::set<int32_t>(a.ids.begin(), a.ids.end()).size(), 6u);
}

TEST(Association, EveryMemoryIsAModelThatLearns) {
  for (const char* memory : {"softmax", "ovq", "vq", "delta", "gated-delta", "linear"}) {
    AssociationOptions o;
    o.memory = memory;
    o.rows = 8;
    o.train = {2}, o.test = {2, 4};
    o.steps = 12, o.warmup = 2, o.test_sequences = 4;
    double first = 0;
    auto note = [&](int64_t step, double loss) {
      if (step == 1) first = loss;
    };
    const AssociationOutcome once = study_association(everything(), o, note),
                             again = study_association(everything(), o, {});
    EXPECT_LT(once.loss, first - 0.1) << memory;
    EXPECT_EQ(once.loss, again.loss) << memory;
    EXPECT_GT(once.state_floats, 0) << memory;
    ASSERT_EQ(once.accuracy.size(), 1u);
    EXPECT_EQ(once.accuracy[0].accuracy.size(), 2u);
  }
}

TEST(Association, MistakesAreNamed) {
  EXPECT_NE(message_of([] { association("sort"); }).find("'sort', expected mqar or copy"), std::string::npos);
  EXPECT_NE(message_of([] { make_associations(Association::copy, 513, 1, 0, 0); }).find("513"), std::string::npos);
  AssociationOptions o;
  o.memory = "vq", o.rows = 8, o.test_rows = {16}, o.steps = 0, o.test = {2}, o.test_sequences = 1;
  EXPECT_NE(message_of([&] { study_association(everything(), o, {}); }).find("only an OVQ memory"),
            std::string::npos);
}

}  // namespace
}  // namespace quern
