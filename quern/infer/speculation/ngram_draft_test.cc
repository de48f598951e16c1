// Guesses by n-grams: what is found, how far it reaches, and that it falls silent where it is never right.
#include "quern/infer/speculation/ngram_draft.h"

#include <gtest/gtest.h>

#include "quern/base/rng.h"
#include "quern/base/test_message.h"

namespace quern::infer {
namespace {

using Tokens = std::vector<int32_t>;

TEST(NgramDraft, GoesOnAsItWentOnBefore) {
  NgramDraft d(4);
  EXPECT_EQ(d.next(Tokens{1, 2, 3, 4, 5, 6, 9, 2}, 4, 0.1), Tokens{}) << "one token is no sign";
  EXPECT_EQ(d.next(Tokens{1, 2, 3, 4, 5, 6, 9, 2, 3}, 4, 0.1), (Tokens{4, 5, 6}));
}

TEST(NgramDraft, TheLongestSuffixWinsThenTheLatest) {
  NgramDraft longest(1), latest(1);
  EXPECT_EQ(longest.next(Tokens{7, 1, 2, 50, 8, 1, 2, 60, 7, 1, 2}, 1, 0.1), Tokens{50});
  EXPECT_EQ(latest.next(Tokens{7, 1, 2, 50, 8, 1, 2, 60, 9, 1, 2}, 1, 0.1), Tokens{60});
}

TEST(NgramDraft, ASourceThatIsRightStaysTheSource) {
  NgramDraft d(2);
  // 1 2 stands twice; the second time more recently. Who followed the first one goes on following it.
  Tokens t = {30, 31, 1, 2, 40, 41, 42, 43, 1, 2, 50, 51, 30, 31, 1, 2};
  EXPECT_EQ(d.next(t, 1, 0.1), Tokens{40});
}

TEST(NgramDraft, ALoopIsGuessedBeyondItsEnd) {
  NgramDraft d(8);
  Tokens t = {9, 1, 2, 1, 2};
  EXPECT_EQ(d.next(t, 5, 0.01), (Tokens{1, 2, 1, 2, 1}));
}

TEST(NgramDraft, RoomAndMostBoundIt) {
  NgramDraft d(3);
  Tokens t;
  for (int i = 0; i < 40; ++i) t.push_back(i % 10);
  EXPECT_EQ(d.next(t, 100, 0.0).size(), 3u);
  EXPECT_EQ(d.next(t, 2, 0.0).size(), 2u);
  EXPECT_EQ(d.next(t, 0, 0.0).size(), 0u);
  EXPECT_NE(message_of([] { NgramDraft(0); }).find("draft length 0: expected 1 to 16"), std::string::npos);
}

// A text of pairs that stood before, going on otherwise each time: every guess is wrong.
TEST(NgramDraft, FallsSilentWhereItIsNeverRight) {
  NgramDraft d(8);
  Tokens t;
  Rng rng(3);
  int64_t drafted = 0, late = 0;
  for (int i = 0; i < 20000; ++i) {
    t.push_back(i % 3 < 2 ? i % 3 : 10 + i);
    Tokens draft = d.next(t, 8, 0.1);
    if (draft.empty()) continue;
    drafted += static_cast<int64_t>(draft.size());
    if (i > 10000) ++late;
    d.record_acceptance(static_cast<int64_t>(draft.size()), 0);
  }
  EXPECT_GT(drafted, 0);
  EXPECT_LT(drafted, 40);
  EXPECT_LE(late, 8);
}

TEST(NgramDraft, ReachesFartherTheMoreIsRightAndTheLessARowCosts) {
  Tokens t;
  for (int i = 0; i < 400; ++i) t.push_back(i % 50);
  NgramDraft d(16);
  Tokens text(t.begin(), t.begin() + 60);
  const size_t first = d.next(text, 16, 0.2).size();
  for (int i = 0; i < 10; ++i) d.record_acceptance(4, 4);
  EXPECT_LT(first, 4u);
  EXPECT_EQ(d.next(text, 16, 0.2).size(), 16u);
  for (int i = 0; i < 3; ++i) d.record_acceptance(8, 4);
  const size_t cheap = d.next(text, 16, 0.05).size(), dear = d.next(text, 16, 0.7).size();
  EXPECT_GT(cheap, 2 * dear);
  EXPECT_GT(dear, 0u);
}

}  // namespace
}  // namespace quern::infer
