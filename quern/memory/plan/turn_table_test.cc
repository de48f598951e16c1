// Searches in the columns of a conversation, against every row looked at.
#include "quern/memory/plan/turn_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "quern/base/rng.h"

namespace quern::memory {
namespace {

// A conversation whose speakers travel: clocks on the wall jump back and forth by up to a day.
TurnTable travels(Rng& rng, size_t turns, int32_t spread) {
  TurnTable t;
  int64_t now = 0;
  int32_t session = 1;
  for (size_t i = 0; i < turns; ++i) {
    const auto pause = static_cast<int64_t>(rng.below(10) ? rng.below(600) : rng.below(30'000));
    session += i > 0 && pause > t.gap ? 1 : 0;
    now += pause;
    const auto offset = static_cast<int32_t>(rng.below(3)) * spread - spread;
    t.push({.id = static_cast<int64_t>(i) + 1,
            .response = static_cast<int32_t>(i),
            .session = session,
            .speaker = static_cast<int32_t>(rng.below(3)),
            .utc = now,
            .offset = offset});
  }
  t.sort_by_time();
  return t;
}

TEST(TurnTable, FindsWallTimesByTheirSearchAsByEveryRow) {
  Rng rng(11);
  for (const int32_t spread : {0, 3600, 43'200}) {
    const TurnTable t = travels(rng, 400, spread);
    for (int n = 0; n < 500; ++n) {
      const auto lo = static_cast<int64_t>(rng.below(static_cast<uint64_t>(t.utc.back()) + 100'000)) - 50'000;
      const int64_t hi = lo + static_cast<int64_t>(rng.below(2) ? rng.below(4000) : rng.below(200'000));
      const RowRuns all = RowRuns::below(t.size());
      const auto inside = [&](uint32_t r) { return t.local(r) >= lo && t.local(r) <= hi; };
      EXPECT_EQ(t.local_between(lo, hi), all.where(inside)) << lo << " to " << hi;
      const size_t begin = rng.below(1 + t.first_at(lo - t.max_offset));
      EXPECT_EQ(t.local_between(lo, hi, begin), all.where(inside)) << "from row " << begin;
    }
    EXPECT_TRUE(t.local_between(5, 4).empty());
  }
}

TEST(TurnTable, FindsSessionsAndSpeakers) {
  Rng rng(12);
  const TurnTable t = travels(rng, 500, 3600);
  const RowRuns all = RowRuns::below(t.size());
  for (int n = 0; n < 200; ++n) {
    std::vector<int32_t> wanted;
    for (int32_t s = 0; s <= t.session.back() + 2; ++s)
      if (rng.below(4) == 0) wanted.push_back(s);
    const RowRuns rows =
        all.where([&](uint32_t r) { return std::binary_search(wanted.begin(), wanted.end(), t.session[r]); });
    EXPECT_EQ(t.in_sessions(wanted), rows);
    std::vector<int32_t> there;
    rows.each([&](uint32_t r) {
      if (there.empty() || there.back() != t.session[r]) there.push_back(t.session[r]);
    });
    EXPECT_EQ(t.sessions_of(rows), there);
  }
  for (int32_t who = 0; who < 3; ++who)
    EXPECT_EQ(RowRuns::of(t.said_by(who)), all.where([&](uint32_t r) { return t.speaker[r] == who; }));
  EXPECT_TRUE(t.said_by(3).empty());
}

}  // namespace
}  // namespace quern::memory
