// Questions about things that change: the statement that holds now, that held then, and the one before; what is no such
// question.
#include <gtest/gtest.h>

#include <algorithm>

#include "quern/memory/ask/memory.h"
#include "quern/memory/facts/fact_question.h"
#include "quern/memory/time/calendar.h"

namespace quern::memory {
namespace {

constexpr const char* kLog[][3] = {
    {"Ada", "2021-03-01 09:00", "I'm living in Leeds since the winter, in a flat above a bakery."},  // 0
    {"Ben", "2021-03-01 09:05", "My sister moved to York last week."},                               // 1
    {"Ada", "2021-06-09 18:00", "First day at Harper and Sons, I work for a printer now."},          // 2
    {"Ada", "2022-04-02 20:00", "We relocated to Cardiff, the boxes are everywhere."},               // 3
    {"Ben", "2022-04-02 20:01", "Do you like living in Cardiff?"},                                   // 4
    {"Ada", "2022-08-10 08:00", "I'd love a place in Lisbon one day."},                              // 5
    {"Ada", "2023-01-16 08:00", "My number is 0151 496 0233."},                                      // 6
    {"Ada", "2023-05-05 12:00", "Ring me on 0151 496 0817 from now on."},                            // 7
    {"Ada", "2023-06-01 12:01", "Choir is on Tuesdays at seven."},                                   // 8
    {"Ada", "2023-09-01 12:01", "From next week choir is on Thursdays."},                            // 9
};

class Facts : public testing::Test {
 protected:
  Facts() : m_(":memory:", MemoryOptions{.create = true, .conversation = "log"}) {
    std::vector<SpokenTurn> turns;
    for (const auto& [speaker, time, text] : kLog)
      turns.push_back({speaker, text, parse_time_text(time, "t").local, 0});
    m_.add_all(turns);
  }
  MemoryResult ask(const char* question) {
    AskOptions o;
    o.now = parse_time_text("2023-12-01 12:00", "now").local;
    o.asker = "Ada";
    return m_.ask(question, o);
  }
  int32_t first(const char* question) {
    const MemoryResult r = ask(question);
    return r.responses.empty() ? -1 : r.responses[0];
  }
  Memory m_;
};

TEST_F(Facts, TheStatementThatHolds) {
  EXPECT_EQ(first("Where do I live now?"), 3);
  EXPECT_EQ(first("Where does Ada live these days?"), 3);
  EXPECT_EQ(first("Where was I living in December 2021?"), 0);
  EXPECT_EQ(first("Where did I live before that?"), 0);
  EXPECT_EQ(first("What's my phone number?"), 7);
  EXPECT_EQ(first("What was my old number?"), 6);
  EXPECT_EQ(first("What day is my choir?"), 9);
  EXPECT_EQ(first("Who do I work for?"), 2);
  EXPECT_EQ(first("Where does Ben's sister live?"), 1);
  EXPECT_EQ(first("Where was I living before 2022?"), 0);
  EXPECT_EQ(first("When is choir?"), 9);
}

TEST_F(Facts, WhoAsksMustBeKnown) {
  AskOptions o;
  o.now = parse_time_text("2023-12-01 12:00", "now").local;
  const auto note = [&](const char* question, const char* asker) {
    o.asker = asker;
    const MemoryResult r = m_.ask(question, o);
    for (const std::string& n : r.notes)
      if (n.find("no speaker's") != n.npos) return n;
    return std::string();
  };
  EXPECT_EQ(note("Where do I live now?", ""), "who asks was not said: “I” and “my” are no speaker's");
  EXPECT_EQ(note("Where do I live now?", "Adda"), "no speaker is called 'Adda': “I” and “my” are no speaker's");
  EXPECT_EQ(note("Where do I live now?", "Ada"), "");
  EXPECT_EQ(note("Where does Ada live now?", ""), "");
  EXPECT_EQ(note("What was said about the choir?", ""), "");
}

TEST_F(Facts, TheHistoryFollowsAndTheDateIsNamed) {
  const MemoryResult r = ask("Where do I live now?");
  EXPECT_EQ(r.responses, (std::vector<int32_t>{3, 0}));
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_NE(r.notes[0].find("as said on 2022-04-02; earlier statements: 2021-03-01"), std::string::npos)
      << r.notes[0];
}

// A conversation of its own: nothing of it is among the tellings of tools/memory.
TEST(FactsInOtherWords, ByKindWishesAndEnds) {
  Memory m(":memory:", MemoryOptions{.create = true, .conversation = "log"});
  std::vector<SpokenTurn> turns;
  constexpr const char* kTurns[][3] = {
      {"Ada", "2022-01-03 09:00", "My tenancy in Leeds began today, the landlord brought bread."},         // 0
      {"Ben", "2022-02-03 09:00", "The rain has been awful."},                                             // 1
      {"Ada", "2022-03-03 09:00", "I'd move to Lisbon tomorrow if I could."},                              // 2
      {"Ada", "2022-04-03 09:00", "Unpacked the boxes, the new neighbours in Cardiff waved at the van."},  // 3
      {"Ada", "2022-05-03 09:00", "The gym took my membership card, I signed up with the rowing club."},   // 4
      {"Ada", "2022-06-03 09:00", "My test drive in the Mazda was a joy, but no."},                        // 5
      {"Ben", "2022-06-04 09:00", "My cousin moved to York."},                                             // 6
  };
  for (const auto& [speaker, time, text] : kTurns)
    turns.push_back({speaker, text, parse_time_text(time, "t").local, 0});
  m.add_all(turns);
  AskOptions o;
  o.now = parse_time_text("2023-12-01 12:00", "now").local;
  o.asker = "Ada";
  const auto first = [&](const char* q) {
    const MemoryResult r = m.ask(q, o);
    return r.responses.empty() ? -1 : r.responses[0];
  };
  EXPECT_EQ(first("Where do I live now?"), 3);
  EXPECT_EQ(first("Where did I live before Cardiff?"), 0);
  EXPECT_EQ(first("Which club am I a member of?"), 4);
}

// Somebody else who is named with an occupation, or who has something, tells nothing of the speaker.
TEST(FactsInOtherWords, OtherPeople) {
  Memory m(":memory:", MemoryOptions{.create = true, .conversation = "log"});
  std::vector<SpokenTurn> turns;
  constexpr const char* kTurns[][3] = {
      {"Tobias", "2024-03-01 09:05", "I'm a baker, the oven starts at four."},                       // 0
      {"Ada", "2024-03-01 09:06", "I work as a nurse at the clinic."},                               // 1
      {"Ada", "2024-03-02 09:05", "We have a cat called Mimi."},                                     // 2
      {"Tobias", "2024-03-03 09:00", "The bus driver waved at me this morning."},                    // 3
      {"Tobias", "2024-03-04 09:05", "The manager of the shop gave me a plum."},                     // 4
      {"Ada", "2024-03-05 09:05", "My landlord has a new dog called Rex."},                          // 5
      {"Ada", "2024-03-05 09:06", "The teacher next door has bought a Skoda."},                // 6
      {"Tobias", "2024-03-06 09:06", "I bought a Dacia on Monday."},                                        // 7
      {"Tobias", "2024-03-07 09:06", "The neighbour lives in Leeds and the chef has got a Volvo."},  // 8
  };
  for (const auto& [speaker, time, text] : kTurns)
    turns.push_back({speaker, text, parse_time_text(time, "t").local, 0});
  m.add_all(turns);
  AskOptions o;
  o.now = parse_time_text("2024-03-10 12:00", "now").local;
  const auto first = [&](const char* q) {
    const MemoryResult r = m.ask(q, o);
    return r.responses.empty() ? -1 : r.responses[0];
  };
  EXPECT_EQ(first("What is Tobias's job?"), 0);
  EXPECT_EQ(first("What does Tobias do for a living?"), 0);
  EXPECT_EQ(first("What is Ada's job?"), 1);
  EXPECT_EQ(first("What pets does Ada have?"), 2);
  EXPECT_EQ(first("What car does Tobias drive?"), 7);
}

TEST(FactQuestion, KnowsWhatIsNone) {
  const std::vector<std::string> speakers = {"Ada", "Ben"};
  const auto is = [&](const char* q, TimeSaid time = TimeSaid::no) {
    return fact_question(q, time, speakers, "Ada").has_value();
  };
  for (const char* none :
       {"What did Ada say about her job?", "What did we talk about yesterday?", "Where is the mill?",
        "What happened in May?", "When did I mention my number?", "What is the weather like?",
        "Did Ben discuss his car?", "When did Ada run the marathon?", "What did I eat yesterday?",
        "Did we walk the dog on Monday?", "What did I do at the gym last week?", "What did I pay for the car in May?",
        "How did Ada make the soup in May?", "What does Ben like to cook?", "What is the plan for our trip?"})
    EXPECT_FALSE(is(none, TimeSaid::yes)) << none;
  for (const char* one :
       {"Where does Ben live?", "What's my email address?", "How many cats does Ada have?", "When is Ben's wedding?",
        "How do I get to work?", "Which gym am I a member of?", "What car do I drive these days?",
        "When is the handover?", "When are we seeing the notary?"})
    EXPECT_TRUE(is(one)) << one;
  for (const char* one : {"How did Ada get to work in May?", "Which phone did I use in May?",
                          "In March, when was Ada's check-up supposed to be?"})
    EXPECT_TRUE(is(one, TimeSaid::yes)) << one;
  EXPECT_FALSE(
      fact_question("Where do I live?", TimeSaid::no, speakers, "").has_value());  // who "I" is, is not known
}

}  // namespace
}  // namespace quern::memory
