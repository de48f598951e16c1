// The tasks are what they say, and a model learns one of them a little; the study is the same twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lab/ovq/association_study.h"
#include "quern/base/test_message.h"
#include "quern/nn/builtin_registry.h"

namespace quern::lab {
namespace {

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

TEST(Association, ValuesOfAKeyComeInOrder) {
  for (Association task : {Association::order, Association::order_said}) {
    const bool said = task == Association::order_said;
    const Associations a = make_associations(task, 12, 2, 1, 0);
    ASSERT_EQ(a.length, said ? 72 : 60);
    constexpr int32_t kFirstTime = kAssociationKeys - kAssociationTimes;
    for (int64_t r = 0; r < 2; ++r) {
      const auto ids = a.ids.begin() + r * a.length, targets = a.targets.begin() + r * a.length;
      std::map<int32_t, std::vector<int32_t>> values;  // of a key, in order
      int64_t t = 0;
      while (t < (said ? 36 : 24)) {
        auto& of_key = values[ids[t]];
        EXPECT_LT(ids[t++], kFirstTime);
        if (said) {
          EXPECT_EQ(ids[t++], kFirstTime + static_cast<int32_t>(of_key.size()));
        }
        of_key.push_back(ids[t++]);
      }
      EXPECT_EQ(values.size(), 3u);
      std::set<std::pair<int32_t, int32_t>> asked;
      for (; t < a.length; t += 3) {
        const int32_t time = ids[t + 1] - kFirstTime;
        ASSERT_TRUE(time >= 0 && time < kAssociationTimes);
        ASSERT_EQ(values[ids[t]].size(), static_cast<size_t>(kAssociationTimes));
        EXPECT_EQ(targets[t + 1], values[ids[t]][static_cast<size_t>(time)]);
        asked.insert({ids[t], time});
      }
      EXPECT_EQ(asked.size(), 12u);
      EXPECT_EQ(std::count_if(targets, targets + a.length, [](int32_t x) { return x >= 0; }), 12);
    }
  }
}

TEST(Association, EveryMemoryIsAModelThatLearns) {
  for (const char* memory : {"softmax", "ovq", "vq", "delta", "gated-delta", "linear"}) {
    AssociationOptions o;
    o.memory.kind = memory;
    o.memory.rows = 8;
    o.train = {2}, o.test = {2, 4};
    o.lessons = {.steps = 12, .warmup = 2}, o.test_sequences = 4;
    double first = 0;
    auto note = [&](int64_t step, double loss) {
      if (step == 1) first = loss;
    };
    const AssociationOutcome once = study_association(nn::builtin_registry(), o, note),
                             again = study_association(nn::builtin_registry(), o, {});
    EXPECT_LT(once.loss, first - 0.1) << memory;
    EXPECT_EQ(once.loss, again.loss) << memory;
    EXPECT_GT(once.state_floats, 0) << memory;
    ASSERT_EQ(once.accuracy.size(), 1u);
    EXPECT_EQ(once.accuracy[0].accuracy.size(), 2u);
  }
}

TEST(Association, MistakesAreNamed) {
  EXPECT_NE(message_of([] { association("sort"); }).find("'sort', expected mqar, copy, order or order-said"),
            std::string::npos);
  EXPECT_NE(message_of([] { make_associations(Association::copy, 513, 1, 0, 0); }).find("513"), std::string::npos);
  EXPECT_NE(message_of([] { make_associations(Association::order, 6, 1, 0, 0); }).find("multiple of 4"),
            std::string::npos);
  AssociationOptions o;
  o.memory = {.kind = "vq", .rows = 8}, o.test_rows = {16}, o.lessons.steps = 0, o.test = {2}, o.test_sequences = 1;
  EXPECT_NE(message_of([&] { study_association(nn::builtin_registry(), o, {}); }).find("only an OVQ memory"),
            std::string::npos);
}

}  // namespace
}  // namespace quern::lab
