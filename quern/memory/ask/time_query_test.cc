// The time grammar: its rules one by one, then 350 wordings whose answers another program worked out
// (tools/oracles/memory/paraphrases.py), then noise.
#include "quern/memory/time/time_query.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/memory/ask/memory.h"
#include "quern/memory/store/import.h"
#include "quern/memory/time/lexicon.h"

namespace quern::memory {
namespace {

Clock at(const char* now) {
  return {.now = parse_time_text(now, "test").local, .semantics = Semantics::strict, .order = {}};
}

// "2023-05-08..2023-06-09" of the only constraint, or what it is instead.
std::string dates(const char* question, const char* now = "2024-03-14 15:20") {
  const TimeQuery q = parse_time(question, at(now));
  if (q.constraints.size() != 1) return fmt::format("{} constraints", q.constraints.size());
  const TimeConstraint& c = q.constraints[0];
  if (c.axis != Axis::date) return "another axis";
  std::string out;
  for (const TimeRange& r : c.ranges) {
    if (!out.empty()) out += " ";
    const std::string lo = r.lo == kNoBegin ? "" : date_text(day_part(r.lo)),
                      hi = r.hi == kNoEnd ? "" : date_text(day_part(r.hi));
    out += lo == hi ? lo : lo + ".." + hi;
  }
  return out;
}

TEST(TimeGrammar, YearsAreFilledInFromThePast) {
  EXPECT_EQ(dates("on May 8th"), "2023-05-08");
  EXPECT_EQ(dates("on March 14th"), "2024-03-14");
  EXPECT_EQ(dates("on March 15th"), "2023-03-15");
  EXPECT_EQ(dates("on February 29th", "2023-06-01 12:00"), "2020-02-29");
  EXPECT_EQ(dates("on February 29th", "1904-02-28 12:00"), "1896-02-29");
  EXPECT_EQ(dates("in May"), "2023-05-01..2023-05-31");
  EXPECT_EQ(dates("between December 20th and January 5th"), "2023-12-20..2024-01-05");
  EXPECT_EQ(dates("between December 20th and January 5th", "2023-12-30 10:00"), "2022-12-20..2023-01-05");
  EXPECT_EQ(dates("from November through February", "2024-03-14 15:20"), "2023-11-01..2024-02-29");
  EXPECT_EQ(dates("on 31/12/2023"), "2023-12-31");
  EXPECT_EQ(dates("on 8.5.2023"), "2023-05-08");
  EXPECT_EQ(dates("on 5/8/23"), "2023-05-08");
  EXPECT_EQ(dates("Who called on 24.12.?"), "2023-12-24");
  EXPECT_EQ(dates("between 3.2. and 5.2., please"), "2024-02-03..2024-02-05");
  EXPECT_EQ(dates("Halloween: who came?"), "2023-10-31");
  EXPECT_EQ(dates("New Year's Eve - what was planned?"), "2023-12-31");
  EXPECT_EQ(dates("Christmas Eve's conversation"), "2023-12-24");
}

TEST(TimeGrammar, WhatIsNoDateIsSaid) {
  const TimeQuery q = parse_time("What did we discuss on February 31st?", at("2024-03-14 15:20"));
  ASSERT_EQ(q.constraints.size(), 1u);
  EXPECT_TRUE(q.constraints[0].ranges.empty());
  ASSERT_EQ(q.notes.size(), 1u);
  EXPECT_NE(q.notes[0].find("February 31st"), std::string::npos);
  EXPECT_TRUE(parse_time("on 2023-02-30", at("2024-03-14 15:20")).constraints[0].ranges.empty());
  EXPECT_TRUE(parse_time("on 2023-13-01", at("2024-03-14 15:20")).constraints[0].ranges.empty());
}

TEST(TimeGrammar, EverydayWordsAreNoDates) {
  for (const char* q : {"What may we expect from the march?",
                        "Did the sun shine?",
                        "She tried it for the first time",
                        "a second helping of pie",
                        "Who sat on the bench?",
                        "the 5th grade teacher",
                        "my 30th birthday",
                        "When did Megan last go horseback riding?",
                        "What did Maria say about Christmas?",
                        "Halloween costumes: who made them?",
                        "Halloween-themed cake: who baked it?",
                        "Christmas-tree lights: who bought them?",
                        "Easter-egg hunt: where was it?",
                        "The fever rose to 8.5. What then?",
                        "the last straw",
                        "one of the first to arrive",
                        "He spoke at length",
                        "spring rolls and soup",
                        "mourning doves",
                        "sundae toppings",
                        "What time is it?",
                        "every time it rains",
                        "this is the last I heard",
                        "half of the cake",
                        "turn left",
                        "a quarter of the pie"})
    EXPECT_TRUE(parse_time(q, at("2024-03-14 15:20")).empty())
        << q << " → " << parse_time(q, at("2024-03-14 15:20")).constraints[0].name;
}

TEST(TimeGrammar, AVerbThatGoesThroughEndsNoSpan) {
  EXPECT_EQ(dates("What did we go through last month?"), "2024-02-01..2024-02-29");
  EXPECT_EQ(dates("What came up through last month?"), "..2024-02-29");
}

TEST(TimeGrammar, SlipsAreMended) {
  EXPECT_EQ(dates("What did we say in Apirl?"), "2023-04-01..2023-04-30");
  EXPECT_EQ(dates("What did we say on Agust 5th?"), "2023-08-05");
  EXPECT_EQ(dates("Who was the last winner?"), "0 constraints");
  EXPECT_EQ(dates("in Janurary"), "2024-01-01..2024-01-31");
  EXPECT_EQ(dates("in Febuary 2023"), "2023-02-01..2023-02-28");
  EXPECT_EQ(dates("in Spetember"), "2023-09-01..2023-09-30");
  EXPECT_EQ(dates("last Wendesday"), "2024-03-13");
  EXPECT_EQ(dates("yesteday"), "2024-03-13");
  EXPECT_TRUE(one_edit_apart("abcd", "abdc"));
  EXPECT_FALSE(one_edit_apart("abcd", "badc"));
  EXPECT_TRUE(one_edit_apart("abc", "abcd"));
  EXPECT_FALSE(one_edit_apart("abc", "abcde"));
}

TEST(TimeGrammar, CountingFromNow) {
  EXPECT_EQ(dates("three weeks ago"), "2024-02-19..2024-02-25");
  EXPECT_EQ(dates("last week"), "2024-03-04..2024-03-10");
  EXPECT_EQ(dates("over the last week"), "2024-03-07..2024-03-14");
  EXPECT_EQ(dates("half a year ago"), "2023-09-01..2023-09-30");
  EXPECT_EQ(dates("a hundred and fifty days ago"), "2023-10-16");
  EXPECT_EQ(dates("one month ago", "2024-03-31 10:00"), "2024-02-01..2024-02-29");
  EXPECT_EQ(dates("the week of May 8th"), "2023-05-08..2023-05-14");
  EXPECT_EQ(dates("the first Monday of June"), "2023-06-05");
  EXPECT_EQ(dates("the last weekend of June"), "2023-06-24..2023-06-25");
  EXPECT_EQ(dates("since May 8th"), "2023-05-08..");
  EXPECT_EQ(dates("until last Monday"), "..2024-03-11");
  EXPECT_EQ(dates("on Thanksgiving"), "2023-11-23");
  EXPECT_EQ(dates("the day after Christmas"), "2023-12-26");
}

// What moves with the clock moves by as much as the clock; what does not, does not.
TEST(TimeGrammar, ShiftsWithTheClock) {
  for (int day = 0; day < 1500; ++day) {
    const Day today = day_of(2022, 1, 1) + day;
    const Clock c{.now = today * kDaySeconds + 3600 * 12, .semantics = Semantics::strict, .order = {}};
    for (const auto& [text, back] :
         {std::pair{"yesterday", 1}, {"12 days ago", 12}, {"the day before yesterday", 2}}) {
      const TimeQuery q = parse_time(text, c);
      ASSERT_EQ(q.constraints.size(), 1u);
      ASSERT_EQ(day_part(q.constraints[0].ranges[0].lo), today - back) << date_text(today);
    }
    const TimeQuery fixed = parse_time("on July 4, 2021", c);
    ASSERT_EQ(day_part(fixed.constraints[0].ranges[0].lo), day_of(2021, 7, 4));
    const TimeQuery past = parse_time("on March 3rd", c);
    const Day d = day_part(past.constraints[0].ranges[0].lo);
    ASSERT_LE(d, today);
    ASSERT_GT(d, today - 367);
  }
}

std::vector<int32_t> wanted(const Json& q) {
  std::vector<int32_t> out;
  for (const Json& run : q.at("responses").as_array())
    for (int64_t r = run.as_array()[0].as_int(); r <= run.as_array()[1].as_int(); ++r)
      out.push_back(static_cast<int32_t>(r));
  return out;
}

TEST(TimeGrammar, ManyWordings) {
  const std::string dir = std::string(QUERN_SOURCE_DIR) + "/tests/memory/";
  Memory m(":memory:", {.create = true, .durable = false, .conversation = "log", .zone = "UTC", .gap = kUsualGap});
  m.add_all(read_conversations(dir + "log.jsonl", "UTC")[0].turns);
  const std::string lines = read_file(dir + "paraphrases.jsonl");
  int asked = 0;
  std::string missed;
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const Json q = Json::parse(std::string_view(lines).substr(begin, end - begin));
    begin = end + 1;
    AskOptions o;
    o.now = parse_time_text(q.at("now").as_string(), "now").local;
    const MemoryResult a = m.ask(q.at("question").as_string(), o);
    ++asked;
    if (a.responses != wanted(q)) missed += fmt::format("\n  {} → {}", q.at("question").as_string(), a.plan.text());
  }
  EXPECT_GE(asked, 300);
  EXPECT_EQ(missed, "");
}

// Questions by somebody who had read what expressions mean (docs/memory.md) and nothing of the grammar. A turn stands
// at every half past the hour of five years, so that a span that is wrong by an hour is wrong.
TEST(TimeGrammar, WordingsOfAnotherHand) {
  const LocalSeconds first = parse_time_text("2021-01-01 00:30", "test").local;
  constexpr int32_t kHours = (5 * 365 + 1) * 24;
  Memory m(":memory:", {.create = true, .durable = false, .conversation = "hours", .zone = "UTC", .gap = kUsualGap});
  std::vector<SpokenTurn> turns;
  for (int32_t h = 0; h < kHours; ++h)
    turns.push_back({h % 2 ? "Ada" : "Ben", "So it is.", first + h * int64_t{3600}, 0});
  m.add_all(turns);
  const std::string lines = read_file(std::string(QUERN_SOURCE_DIR) + "/tests/memory/another_hand.jsonl");
  int asked = 0, right = 0;
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const Json q = Json::parse(std::string_view(lines).substr(begin, end - begin));
    begin = end + 1;
    auto local = [&](const char* key) { return parse_time_text(q.at(key).as_string(), key).local; };
    AskOptions o;
    o.now = local("now");
    const LocalSeconds to = std::min(local("to") + 59, o.now);
    std::vector<int32_t> wanted;
    for (int32_t h = 0; h < kHours; ++h)
      if (const LocalSeconds t = first + h * int64_t{3600}; t >= local("from") && t <= to) wanted.push_back(h);
    const MemoryResult a = m.ask(q.at("question").as_string(), o);
    ++asked;
    if (a.responses == wanted)
      ++right;
    else
      fmt::print("not understood: {} → {}{}\n", q.at("question").as_string(), a.plan.text(),
                 a.topic.empty() ? "" : fmt::format(", topic '{}'", a.topic));
  }
  EXPECT_GE(asked, 300);
  EXPECT_GE(right, 0.9 * asked) << right << " of " << asked;
  RecordProperty("right", right);
}

TEST(TimeGrammar, NoiseNeverThrows) {
  const char* words[] = {"the",    "last",    "May",      "8th", "session",      "and",  "between", "31",
                         "of",     "week",    "ago",      "to",  "2023-05",      "5/8",  "Tuesday", "first",
                         "before", "through", "-",        ",",   "'23",          "3:99", "pm",      "\xff\xfe",
                         "time",   "we",      "talked",   "0",   "999999999999", "next", "half",    "a",
                         "on",     "Q3",      "February", "30th"};
  const Rng rng(5);
  uint64_t n = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string q;
    for (int k = 0; k < 12; ++k) q += std::string(k ? " " : "") + words[rng.bits(n++) % std::size(words)];
    const TimeQuery t = parse_time(q, at(i % 2 ? "1700-01-02 00:00" : "8999-12-31 23:59"));
    for (const TimeConstraint& c : t.constraints) ASSERT_LE(c.end, q.size());
  }
}

TEST(TimeGrammar, LongQuestionsCostLinearTime) {
  auto tries = [](const char* phrase, int copies) {
    std::string q;
    for (int i = 0; i < copies; ++i) q += phrase;
    return parse_time(q, at("2024-03-14 15:20")).tries;
  };
  for (const char* phrase :
       {"the day before the week after the first Monday of the month before last Tuesday and ", "1st, 2nd, ",
        "the first and the second, ", "sessions 3, 5, 7 and ", "May 1st, 2nd and "}) {
    const int64_t few = tries(phrase, 40);
    EXPECT_GT(few, 40) << phrase;
    EXPECT_LE(tries(phrase, 800), 22 * few) << phrase;  // quadratic would be four hundred times
  }
}

}  // namespace
}  // namespace quern::memory
