// The prefix cache against the definition, on made-up states (prefix_test_util.h).
#include "quern/infer/cache/prefix_cache.h"

#include <gtest/gtest.h>

#include "quern/base/rng.h"
#include "quern/infer/cache/prefix_test_util.h"

namespace quern::infer {
namespace {

PrefixMatch resume(PrefixCache& c, const Tokens& t, bool recurrent, int64_t aligned = 1) {
  mixers::SequenceState s(sites(recurrent));
  PrefixMatch m = c.resume(t, static_cast<int64_t>(t.size()) - 1, s, aligned);
  EXPECT_EQ(s.length(), m.cached);
  expect_state(s, t, recurrent);
  return m;
}

void store(PrefixCache& c, const Tokens& t, bool recurrent, SnapshotKind kind = SnapshotKind::turn_end) {
  c.store(t, seen(t, recurrent), kind);
}

TEST(PrefixCache, AttentionResumesAnywhereSnapshotsAtTheirPlace) {
  Tokens a = {1, 2, 3, 4, 5, 6}, b = {1, 2, 3, 9, 9};
  for (bool recurrent : {false, true}) {
    PrefixCache c(sites(recurrent), 1 << 20);
    EXPECT_EQ(resume(c, a, recurrent).note, "no earlier request began with these tokens");
    store(c, a, recurrent);
    PrefixMatch m = resume(c, b, recurrent);
    EXPECT_EQ(m.matched, 3);
    EXPECT_EQ(m.cached, recurrent ? 0 : 3);
    EXPECT_NE(m.note.find(recurrent ? "nearest snapshot of the recurrent state is at 0"
                                    : "part from this one after token 3"),
              std::string::npos)
        << m.note;
    store(c, {1, 2}, recurrent, SnapshotKind::branch);  // inside the known edge
    EXPECT_EQ(resume(c, b, recurrent).cached, recurrent ? 2 : 3);
    EXPECT_EQ(resume(c, b, recurrent, 2).cached, 2) << "aligned";
    Tokens longer = a;
    longer.push_back(7);
    EXPECT_EQ(resume(c, longer, recurrent).cached, 6);
    EXPECT_EQ(resume(c, a, recurrent).cached, recurrent ? 2 : 5) << "the last token is always fed again";
    EXPECT_EQ(c.known(longer), 6);
  }
}

// Random requests over a small alphabet share and split edges in every way; after each the budget holds and what is
// resumed is exactly what was stored.
TEST(PrefixCache, RandomRequestsUnderABudget) {
  for (bool recurrent : {false, true}) {
    PrefixCache c(sites(recurrent), 30000);
    Rng rng(recurrent ? 1 : 2);
    std::vector<Tokens> past;
    int64_t reused = 0;
    for (int i = 0; i < 4000; ++i) {
      Tokens t;
      if (!past.empty() && rng.uniform() < 0.7) {
        t = past[static_cast<size_t>(rng.uniform() * static_cast<double>(past.size()))];
        t.resize(static_cast<size_t>(rng.uniform() * static_cast<double>(t.size())) + 1);
      }
      for (int n = static_cast<int>(rng.uniform() * 12) + 1; n > 0; --n)
        t.push_back(static_cast<int32_t>(rng.uniform() * 3));
      reused += resume(c, t, recurrent).cached;
      if (HasFatalFailure()) return;
      store(c, t, recurrent, static_cast<SnapshotKind>(static_cast<int>(rng.uniform() * 3)));
      EXPECT_LE(c.bytes(), c.budget());
      EXPECT_GT(c.bytes(), 0);
      EXPECT_EQ(c.known(t), static_cast<int64_t>(t.size()));
      past.push_back(t);
      if (past.size() > 30) past.erase(past.begin());
    }
    EXPECT_GT(reused, 4000);
    c.clear();
    EXPECT_EQ(c.bytes(), 0);
  }
}

// However a tree came to be, what it counts is what it is.
TEST(PrefixCache, SplittingCountsLikeBuilding) {
  const Tokens a(37, 1);
  Tokens ab = a, ac = a;
  ab.insert(ab.end(), 70, 2), ac.insert(ac.end(), 5, 3);
  PrefixCache split(sites(false), 1 << 20), built(sites(false), 1 << 20);
  store(split, ab, false), store(split, ac, false);
  store(built, a, false), store(built, ab, false), store(built, ac, false);
  EXPECT_EQ(split.bytes(), built.bytes());
}

TEST(PrefixCache, IdleGridSnapshotsGoFirst) {
  Tokens t(20, 1), other(20, 2);
  auto fill = [&](PrefixCache& c) {
    for (int64_t n : {5, 10, 15}) store(c, Tokens(t.begin(), t.begin() + n), true, SnapshotKind::periodic);
    store(c, t, true, SnapshotKind::turn_end);
  };
  PrefixCache all(sites(true), 1 << 20);
  fill(all), store(all, other, true, SnapshotKind::turn_end);
  PrefixCache c(sites(true), all.bytes() - 1);  // one snapshot too many
  fill(c);
  EXPECT_EQ(resume(c, Tokens(t.begin(), t.begin() + 11), true).cached, 10);
  store(c, other, true, SnapshotKind::turn_end);
  EXPECT_EQ(resume(c, Tokens(t.begin(), t.begin() + 11), true).cached, 10) << "used once, so it stays";
  EXPECT_EQ(resume(c, Tokens(t.begin(), t.begin() + 7), true).cached, 0) << "the oldest idle one went";
  Tokens longer = t;
  longer.push_back(3);
  EXPECT_EQ(resume(c, longer, true).cached, 20) << "the turn's end stayed";
}

// Leaf by leaf, and what was only a way to leaves when it is one itself; what was used meanwhile stays.
TEST(PrefixCache, TheOldestLeavesGoFirst) {
  for (bool recurrent : {false, true}) {
    const auto two = [](int32_t first) { return Tokens{first, 1, 2, 3, 4, 5, 6, 7}; };
    PrefixCache one(sites(recurrent), 1 << 20);
    store(one, two(1), recurrent);
    const int64_t each = one.bytes();
    PrefixCache c(sites(recurrent), each * 10 + each / 2);
    for (int32_t k = 0; k < 10; ++k) store(c, two(k), recurrent);
    EXPECT_EQ(c.bytes(), 10 * each);
    resume(c, two(3), recurrent);
    Tokens longer = two(0);  // what came first has a child now
    longer.push_back(8);
    store(c, longer, recurrent);
    EXPECT_EQ(c.known(two(1)), 0);
    EXPECT_EQ(c.known(longer), 9);
    for (int32_t k = 10; k < 16; ++k) store(c, two(k), recurrent);
    for (int32_t k : {2, 4, 5, 6, 7}) EXPECT_EQ(c.known(two(k)), 0) << k;
    for (int32_t k : {3, 15, 14, 13, 12, 11, 10}) EXPECT_EQ(c.known(two(k)), 8) << k;
    EXPECT_LE(c.bytes(), c.budget());
    for (int32_t k = 16; k < 40; ++k) store(c, two(k), recurrent);
    EXPECT_EQ(c.known(longer), 0) << "the leaf, then its way";
    for (int32_t k = 30; k < 40; ++k) EXPECT_EQ(c.known(two(k)), 8) << k;
    EXPECT_EQ(c.bytes(), 10 * each);
  }
}

TEST(PrefixCache, WhatCannotFitIsNotKept) {
  PrefixCache few(sites(false), 1 << 20), many(sites(false), 1 << 20);
  store(few, Tokens(5, 1), false), store(many, Tokens(50, 2), false);
  ASSERT_LT(few.bytes(), many.bytes());
  PrefixCache c(sites(false), many.bytes() - 1);
  store(c, Tokens(5, 1), false);
  store(c, Tokens(50, 2), false);
  EXPECT_EQ(c.known(Tokens(50, 2)), 0);
  EXPECT_EQ(c.known(Tokens(5, 1)), 5) << "and pushes nothing out";
}

}  // namespace
}  // namespace quern::infer
