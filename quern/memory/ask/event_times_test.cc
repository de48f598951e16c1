// Times that a question names by events: which words name one, which turn tells of it, and what is told where none does.
#include <gtest/gtest.h>

#include <algorithm>

#include "quern/memory/ask/memory.h"
#include "quern/memory/event/event_phrase.h"
#include "quern/memory/time/calendar.h"

namespace quern::memory {
namespace {

constexpr const char* kLog[][3] = {
    {"Ada", "2023-03-01 09:00", "I feed the neighbour's cat and the walks are short."},  // 0
    {"Ben", "2023-03-01 09:05", "The vet is on the 9th, mind the basket."},              // 1
    {"Ada", "2023-03-09 18:00", "He was brave, the walks must be slow for a week."},     // 2
    {"Ben", "2023-03-20 10:00", "Money is tight before the bakery pays."},               // 3
    {"Ada", "2023-04-02 20:00", "We finally adopted a dog today, a brown one."},         // 4
    {"Ben", "2023-04-02 20:01", "No more lie-ins for you."},                             // 5
    {"Ada", "2023-04-10 08:00", "The walks are an hour now, and the dog wants more."},   // 6
    {"Ben", "2023-04-16 08:00", "My knee says no to walks."},                            // 7
    {"Ada", "2023-05-05 12:00", "I started at the bakery, money at last."},              // 8
    {"Ben", "2023-06-01 12:00", "Are the walks with the dog still that long?"},          // 9
    {"Ada", "2023-06-01 12:01", "Since the bakery they are at five in the morning."},    // 10
};

class EventTimes : public testing::Test {
 protected:
  EventTimes() : m_(":memory:", MemoryOptions{.create = true, .conversation = "log"}) {
    std::vector<SpokenTurn> turns;
    for (const auto& [speaker, time, text] : kLog)
      turns.push_back({speaker, text, parse_time_text(time, "t").local, 0});
    m_.add_all(turns);
  }
  MemoryResult ask(const char* question) {
    AskOptions o;
    o.now = parse_time_text("2023-07-01 12:00", "now").local;
    o.asker = "Ada";
    return m_.ask(question, o);
  }
  std::vector<int32_t> within(const char* question) {
    std::vector<int32_t> rows;
    for (const auto& [lo, hi] : ask(question).within)
      for (int32_t r = lo; r <= hi; ++r) rows.push_back(r);
    return rows;
  }
  static std::vector<int32_t> rows(int32_t lo, int32_t hi) {
    std::vector<int32_t> all;
    for (int32_t r = lo; r <= hi; ++r) all.push_back(r);
    return all;
  }
  Memory m_;
};

TEST_F(EventTimes, BoundTheTurns) {
  EXPECT_EQ(within("What happened after I got the dog?"), rows(5, 10));
  EXPECT_EQ(within("Before we adopted the dog, what was the weather?"), rows(0, 3));
  EXPECT_EQ(within("After I got the dog what came of the weather?"), rows(5, 10));
  EXPECT_EQ(within("What has happened since we got the dog?"), rows(4, 10));
  EXPECT_EQ(within("What happened until the dog was here?"), rows(0, 4));
  EXPECT_EQ(within("What happened right after getting the dog?"), rows(5, 6));
  EXPECT_EQ(within("What happened between getting the dog and the bakery?"), rows(5, 7));
  EXPECT_EQ(ask("What did Ben say about his knee after I got the dog?").topic, "knee");
  const MemoryResult ben = ask("What did Ben say about his knee after Ada got the dog?");
  ASSERT_FALSE(ben.responses.empty());
  EXPECT_EQ(ben.responses[0], 7);
}

TEST_F(EventTimes, AreNamedInANote) {
  const MemoryResult a = ask("What happened after I got the dog?");
  ASSERT_EQ(a.notes.size(), 1u);
  EXPECT_NE(a.notes[0].find("'I got the dog' was taken for 2023-04-02 20:00:00, Ada: “We finally adopted"),
            std::string::npos)
      << a.notes[0];
  const MemoryResult none = ask("What happened after the shipwreck?");
  ASSERT_FALSE(none.notes.empty());
  EXPECT_EQ(none.notes[0], "no turn reports 'the shipwreck': it was not used as a time");
}

TEST_F(EventTimes, AnAnnouncedDayStandsForTheEvent) {
  EXPECT_EQ(within("What happened after the vet?"), rows(2, 10));
  EXPECT_EQ(within("What happened before the vet?"), rows(0, 1));
  EXPECT_NE(ask("What happened after the vet?").notes[0].find("2023-03-09, as announced on 2023-03-01"),
            std::string::npos);
}

TEST_F(EventTimes, TheDayOfAnEvent) {
  EXPECT_EQ(within("What did we say on the day of the vet?"), rows(2, 2));
  EXPECT_EQ(within("What happened the day we adopted the dog?"), rows(4, 5));
}

TEST_F(EventTimes, DaysAreCountedFromThem) {
  const MemoryResult a = ask("What did Ben say two weeks after I got the dog?");
  EXPECT_EQ(a.reading, "What did Ben say two weeks after 2 April 2023?");
  EXPECT_EQ(a.responses, (std::vector<int32_t>{7}));
  EXPECT_EQ(within("What happened the week after the vet?"), std::vector<int32_t>{});
}

TEST(EventPhrase, KnowsWhatIsNoEvent) {
  Clock clock;
  clock.now = parse_time_text("2023-07-01 12:00", "now").local;
  const auto count = [&](const char* question) {
    const TimeWords words = time_words(question);
    return event_phrases(question, words, parse_time(question, words, clock), {"ada"}).size();
  };
  for (const char* none :
       {"Who looks after the dog?", "What is the boat named after?", "Did I mention this before?",
        "What came after that?", "What did we say after 9 May?", "What did Ada do before lunch?",
        "What did we say before last Tuesday?", "What came after the second chat?", "How often since then?",
        "once a week", "What came after the first week of May?", "What was the book Ada once recommended?",
        "Is Ada following the keto diet?", "What is the difference between the cat and the dog?",
        "What do I drink before going to bed?", "Before I forget, what was the hotel?",
        "What did we say since the beginning?"})
    EXPECT_EQ(count(none), 0u) << none;
  for (const char* one : {"What did we say after the vet?", "Before moving to Leeds, what was dear?",
                          "What has Ada said since her wedding?", "Until the car was sold, how did I get to work?",
                          "what was going on before court", "Once the baby was here, who slept?",
                          "What was said between the exam and the trip?", "What broke the day after the party?",
                          "By the time the roof was on, what had it cost?", "after mum left what did we eat"})
    EXPECT_EQ(count(one), 1u) << one;
}

}  // namespace
}  // namespace quern::memory
