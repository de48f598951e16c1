// The tasks: what they claim to need is there, and walks find what no word of the question names.
#include "quern/recall/mixpr/tasks.h"

#include <gtest/gtest.h>

namespace quern::recall {
namespace {

std::string chunk(const RecallTask& t, uint32_t c) {
  return t.text.substr(t.chunks[c].begin, t.chunks[c].end - t.chunks[c].begin);
}

TEST(RecallTasks, HashChainsHangTogether) {
  const RecallTask t = hash_hop_task(300'000, 4, 30, 7);
  for (const RecallQuestion& q : t.questions) {
    ASSERT_EQ(q.needed.size(), 5u);
    std::string at = q.text;
    for (const uint32_t c : q.needed) {
      const std::string line = chunk(t, c);
      EXPECT_EQ(line.substr(0, 16), at);
      at = line.substr(line.find("= ") + 2, 16);
    }
  }
  const RecallScore s = score_task(t);
  EXPECT_EQ(s.mixpr.hits, 30);
  EXPECT_EQ(s.bm25.hits, 0);
}

TEST(RecallTasks, VariablesAndNeedles) {
  RecallScore v = score_task(variables_task(100'000, 4, 4, 4, 3));
  EXPECT_EQ(v.mixpr.hits, 4);
  EXPECT_LT(v.bm25.hits, 4);
  const RecallScore n = score_task(needles_task(200'000, 20, 3));
  EXPECT_EQ(n.mixpr.hits, 20);
  EXPECT_EQ(n.bm25.hits, 20);
}

TEST(RecallTasks, TwoFacts) {
  RecallScore s = score_task(facts_task(128'000, {}, 100));
  for (uint64_t seed = 101; seed < 110; ++seed) {
    const RecallTask t = facts_task(128'000, {}, seed);
    ASSERT_EQ(t.questions.size(), 1u);
    ASSERT_EQ(t.questions[0].needed.size(), 2u);
    s.add(score_task(t));
  }
  EXPECT_GE(s.mixpr.hits, 8);
  EXPECT_LE(s.bm25.hits, 3);
  EXPECT_EQ(s.mixpr.n, 10);
}

TEST(RecallTasks, Intervals) {  // Wilson's, by hand for 8 of 10
  const Share s{10, 8};
  EXPECT_NEAR(s.low(), 0.4902, 1e-3);
  EXPECT_NEAR(s.high(), 0.9433, 1e-3);
}

}  // namespace
}  // namespace quern::recall
