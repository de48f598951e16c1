// The first time, the last time, how often; and turns that are counted among a speaker's.
#include "quern/memory/ask/occurrence.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/memory/ask/memory.h"
#include "quern/recall/words/tokens.h"

namespace quern::memory {
namespace {

using Numbers = std::vector<int32_t>;

class Occurrences : public testing::Test {
 protected:
  Occurrences() : m_(":memory:", {.create = true, .conversation = "c"}) {
    std::vector<SpokenTurn> turns;
    for (const auto& [who, text, when] : std::initializer_list<std::array<const char*, 3>>{
             {"Anna", "Good morning.", "2023-05-01 10:00"},
             {"Tobias", "The roof leaks again.", "2023-05-01 10:01"},
             {"Mira", "The roof and the choir, always the same.", "2023-05-02 10:00"},
             {"Anna", "The choir sings on Tuesday.", "2023-05-02 10:01"},
             {"Tobias", "The roof is done.", "2023-05-06 10:00"},
             {"Anna", "Well done!", "2023-05-06 10:01"},
             {"Mira", "Let us dance.", "2023-05-06 10:02"},
             {"Tobias", "Not me.", "2023-05-06 10:03"}})
      turns.push_back({who, text, parse_time_text(when, "t").local, 0});
    m_.add_all(turns);
  }
  MemoryResult ask(const char* question) {
    AskOptions o;
    o.now = parse_time_text("2023-05-08 12:00", "now").local;
    return m_.ask(question, o);
  }
  static bool says(const MemoryResult& r, const char* words) {
    return std::any_of(r.notes.begin(), r.notes.end(), [&](const std::string& n) { return n.find(words) != n.npos; });
  }
  Memory m_;
};

TEST_F(Occurrences, TheFirst) {
  for (const char* q :
       {"When did we first talk about the roof?", "When was the first time we talked about the roof?",
        "Who first mentioned the roof?", "Who mentioned the roof first?",
        "When did we talk about the roof for the first time?", "On which day did we first discuss the roof?",
        "Wann haben wir zum ersten Mal über roof gesprochen?"}) {
    const MemoryResult r = ask(q);
    EXPECT_EQ(r.responses, Numbers{1}) << q << " " << r.reading << " " << fmt::format("{}", fmt::join(r.notes, "|"));
    EXPECT_TRUE(says(r, "3 turns of 3 sessions have")) << q;
  }
  EXPECT_EQ(ask("When did Mira first mention the roof?").responses, Numbers{2});
  EXPECT_EQ(ask("When did we first talk about the choir?").responses, Numbers{2});
  EXPECT_EQ(ask("When did we first talk about the roof and the choir?").responses, Numbers{2});
}

TEST_F(Occurrences, TheLast) {
  for (const char* q : {"When did we last talk about the roof?", "When was the last time we spoke about the roof?",
                        "Who brought up the roof last?", "When did we most recently discuss the roof?"}) {
    EXPECT_EQ(ask(q).responses, Numbers{4}) << q << " " << fmt::format("{}", fmt::join(ask(q).notes, "|"));
    EXPECT_FALSE(says(ask(q), "not understood")) << q;
  }
}

TEST_F(Occurrences, WhatWasSaidThen) {
  EXPECT_EQ(ask("What did we say the first time we talked about the choir?").responses, (Numbers{2, 3}));
  EXPECT_EQ(ask("What did we say the last time we discussed the roof?").responses, Numbers{4});
  EXPECT_EQ(ask("What did we discuss the first time we talked in May?").responses, (Numbers{0, 1}));  // a session
}

TEST_F(Occurrences, HowOften) {
  for (const char* q : {"How many times did we talk about the roof?", "How often did we mention the roof?"}) {
    const MemoryResult r = ask(q);
    EXPECT_EQ(r.responses, (Numbers{1, 2, 4})) << q;
    EXPECT_TRUE(says(r, "counted: 3 turns of 3 sessions")) << q;
    ASSERT_TRUE(r.occurrences.has_value()) << q;
    EXPECT_EQ(r.occurrences->turns, 3);
    EXPECT_EQ(r.occurrences->sessions, 3);
  }
  EXPECT_EQ(ask("How often did Tobias mention the roof in May?").occurrences->turns, 2);
  EXPECT_FALSE(ask("How often does the choir sing?").occurrences.has_value());
  EXPECT_TRUE(ask("How many times did we talk about the zeppelin?").responses.empty());
}

TEST_F(Occurrences, OfSomethingThatWasDoneIsNamed) {
  EXPECT_TRUE(says(ask("When did Anna first go to the choir?"), "'first' was not used"));
  EXPECT_TRUE(says(ask("When did Anna last go to the choir?"), "'last'"));
}

TEST_F(Occurrences, CountedAmongTheSpeakersTurns) {
  EXPECT_EQ(ask("What was the last thing anyone but Tobias said?").responses, Numbers{6});
  EXPECT_EQ(ask("the last two messages from everyone but Tobias").responses, (Numbers{5, 6}));
  EXPECT_EQ(ask("What was the first thing everyone except Anna said?").responses, Numbers{1});
  EXPECT_EQ(ask("the last two from Anna").responses, (Numbers{3, 5}));
  EXPECT_EQ(ask("Show me Anna's last two").responses, (Numbers{3, 5}));
  EXPECT_EQ(ask("the last three messages from Anna").responses, (Numbers{0, 3, 5}));
  EXPECT_EQ(ask("the first one by Mira").responses, Numbers{2});
}

// A conversation in many segments, with late turns and deleted ones, beside every text looked at one by one.
TEST(OccurrencesOfMany, AreThoseOfEveryTextLookedAt) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("quern_often_{}.db", ::getpid());
  const auto clean = [&] {
    for (const char* end : {"", "-wal", "-shm", "-topics"}) std::filesystem::remove_all(path.string() + end);
  };
  clean();
  Memory m(path, {.create = true, .conversation = "c", .topic_segment_turns = 64});
  const std::vector<std::string> words = {"roof", "roofs", "choir", "goose", "mill", "river", "baker", "lantern"};
  Rng rng(5);
  const LocalSeconds begin = parse_time_text("2023-04-20 08:00", "t").local;
  for (int i = 0; i < 700; ++i) {
    std::string text = "Well";
    for (const std::string& w : words)
      if (rng.below(5) == 0) text += " " + w + (rng.below(4) == 0 ? " " + w : "");
    const int64_t late = rng.below(9) == 0 ? 40'000 : 0;
    m.add({rng.below(2) ? "Ada" : "Ben", text, begin + i * 3000 - late, 0});
  }
  m.forget({3, 64, 65, 200, 511});
  AskOptions o;
  o.now = begin + 701 * 3000, o.k = 1000;
  const recall::TokenOptions tokens{.stem = true, .drop_stopwords = true};
  const LocalSeconds may = parse_time_text("2023-05-01 00:00", "t").local;
  for (int i = 0; i < 60; ++i) {
    const std::string &a = words[rng.below(8)], &b = words[rng.below(8)];
    const bool both = rng.below(2), ada = rng.below(2), in_may = rng.below(2);
    const std::set<std::string> spelled = both ? std::set{a, b} : std::set{a};
    Numbers expected;
    size_t most = 1;
    const TurnTable& t = m.table();
    for (size_t row = 0; row < t.size(); ++row) {
      if (in_may && (t.local(row) < may || t.local(row) >= may + 31 * kDaySeconds)) continue;
      if (ada && m.speakers()[static_cast<size_t>(t.speaker[row])] != "Ada") continue;
      const std::vector<std::string> said = recall::words_of(m.text(t.response[row]), tokens);
      size_t n = 0;
      for (const std::string& w : spelled)
        n += std::find(said.begin(), said.end(), recall::words_of(w, tokens)[0]) != said.end();
      if (n > most) most = n, expected.clear();
      if (n == most) expected.push_back(t.response[row]);
    }
    const std::string q = fmt::format("How often did {} the {}{}{}?", ada ? "Ada mention" : "we talk about", a,
                                      both ? " and the " + b : "", in_may ? " in May" : "");
    const MemoryResult r = m.ask(q, o);
    EXPECT_EQ(r.responses, expected) << q;
    ASSERT_TRUE(r.occurrences || expected.empty()) << q;
    if (!r.occurrences) continue;
    std::set<int32_t> sessions;
    for (const int32_t n : expected) sessions.insert(t.session[*t.row_of(n)]);
    EXPECT_EQ(r.occurrences->turns, static_cast<int64_t>(expected.size())) << q;
    EXPECT_EQ(r.occurrences->sessions, static_cast<int64_t>(sessions.size())) << q;
  }
  clean();
}

}  // namespace
}  // namespace quern::memory
