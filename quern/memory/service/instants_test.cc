// "Now" is an instant: turns by clocks of other zones have been said when they have, whatever those clocks showed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "quern/memory/ask/memory.h"
#include "quern/memory/service/turns.h"

namespace quern::memory {
namespace {

using Numbers = std::vector<int32_t>;

SpokenTurn turn(const char* who, const char* text, const char* time) {
  const WrittenTime t = parse_time_text(time, "time");
  return {who, text, t.local - *t.offset, *t.offset};
}

class Instants : public testing::Test {
 protected:
  Instants() : m_(":memory:", {.create = true, .conversation = "c", .zone = "Europe/London"}) {
    m_.add(turn("Ada", "The kettle is broken.", "2026-01-12 08:00+00:00"));               // 0
    m_.add(turn("Kenji", "The parcel has left the harbor.", "2026-01-12 18:00+09:00"));   // 1: 9:00 in London
    m_.add(turn("Kenji", "The parcel is in the warehouse.", "2026-01-13 01:30+09:00"));   // 2: 16:30
    m_.add(turn("Ada", "Nine parcels stand in the hall.", "2026-01-12 16:40+00:00"));     // 3
    m_.add(turn("Mia", "Breakfast, and the parcel is here.", "2026-01-12 08:50-08:00"));  // 4: 16:50
  }
  MemoryResult ask(const char* question, const char* now) {
    AskOptions o;
    const WallTime at = wall_time(std::string(now), "now", m_.zone());
    o.now = at.local, o.offset = at.offset;
    MemoryResult r = m_.ask(question, o);
    std::sort(r.responses.begin(), r.responses.end());
    return r;
  }
  Memory m_;
};

TEST_F(Instants, TurnsOfAnEasternClockAreNotInTheFuture) {
  const MemoryResult r = ask("What did Kenji say about the parcel?", "2026-01-12 16:35");
  EXPECT_EQ(r.responses, (Numbers{1, 2}));
  EXPECT_TRUE(std::any_of(r.notes.begin(), r.notes.end(), [](const std::string& n) {
    return n.find("2 turns are later") != n.npos;  // those of 16:40 and 16:50
  }));
}

TEST_F(Instants, TurnsOfAWesternClockAreNotSaidTooSoon) {
  EXPECT_EQ(ask("What about the parcel?", "2026-01-12 16:45").responses,
            (Numbers{1, 2, 3}));  // Mia's is not there yet
  EXPECT_EQ(ask("What about the parcel?", "2026-01-12 16:50").responses, (Numbers{1, 2, 3, 4}));
}

TEST_F(Instants, TodayHasWhatWasSaidUntilNow) {
  EXPECT_EQ(ask("What did we talk about today?", "2026-01-12 16:55").responses, (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(ask("What did we talk about since yesterday?", "2026-01-12 16:35").responses, (Numbers{0, 1, 2}));
}

TEST_F(Instants, HoursAreCountedBackAsInstants) {
  EXPECT_EQ(ask("What did we talk about in the last hour?", "2026-01-12 16:55").responses, (Numbers{2, 3, 4}));
  EXPECT_EQ(ask("What did we talk about in the last twenty minutes?", "2026-01-12 16:55").responses, (Numbers{3, 4}));
}

TEST_F(Instants, EventsBoundByInstants) {
  EXPECT_EQ(ask("What did we talk about after the parcel left the harbor?", "2026-01-12 16:55").responses,
            (Numbers{2, 3, 4}));
}

TEST_F(Instants, DeletingBeforeATimeIsByInstants) {
  const WallTime nine = wall_time(std::string("2026-01-12 09:30"), "before", m_.zone());
  EXPECT_EQ(chosen_turns(m_, {.response = {}, .session = {}, .before = nine.utc()}), (Numbers{0, 1}));
}

TEST_F(Instants, ThePlanSelectsTheSameTurns) {
  for (const char* question : {"What did we talk about today?", "What did we talk about in the last hour?",
                               "What did we talk about since yesterday?"}) {
    const MemoryResult r = ask(question, "2026-01-12 16:45");
    EXPECT_EQ(r.responses.back(), 3) << question;
    EXPECT_NE(r.plan.sql(1).find("ts <="), std::string::npos) << r.plan.sql(1);
  }
}

// The hour that the clock shows twice: the second time, what was said in the first is past.
TEST(InstantsOfTheFold, TheSecondTimeKnowsTheFirst) {
  Memory m(":memory:", {.create = true, .conversation = "c", .zone = "Europe/Berlin"});
  m.add(turn("Ada", "The clock will go back.", "2025-10-26 02:40+02:00"));
  m.add(turn("Ada", "The clock went back.", "2025-10-26 02:05+01:00"));
  AskOptions o;
  const WallTime at = wall_time(std::string("2025-10-26 02:10+01:00"), "now", m.zone());
  o.now = at.local, o.offset = at.offset;
  EXPECT_EQ(m.ask("What about the clock?", o).responses.size(), 2u);
}

}  // namespace
}  // namespace quern::memory
