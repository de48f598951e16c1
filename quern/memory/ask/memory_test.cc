// Asking: routes, context, speakers, the plan as SQL against the rows it names, and the data set's own questions
// where they are at hand.
#include "quern/memory/ask/memory.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/memory/ask/eval.h"
#include "quern/memory/ask/turn_lines.h"
#include "quern/memory/store/import.h"

namespace quern::memory {
namespace {

namespace fs = std::filesystem;

std::string golden(const char* name) { return std::string(QUERN_SOURCE_DIR) + "/tests/memory/" + name; }

std::unique_ptr<Memory> sample() {
  auto m = std::make_unique<Memory>(
      ":memory:",
      MemoryOptions{.create = true, .durable = false, .conversation = "log", .zone = "UTC", .gap = kUsualGap});
  m->add_all(read_conversations(golden("log.jsonl"), "UTC")[0].turns);
  return m;
}

AskOptions asked(const char* now = "2024-03-14 15:20") {
  AskOptions o;
  o.now = parse_time_text(now, "now").local;
  return o;
}

TEST(Memory, LinesOfTurnsGoWithTheirTexts) {
  const auto sampled = sample();
  Memory& m = *sampled;
  const auto lines = [&] {
    std::vector<Json> all;
    each_turn_line(m, 3, 5, [&](const Json& line) { all.push_back(line); });
    return all;
  };
  std::vector<Json> before = lines();
  ASSERT_EQ(before.size(), 5u);
  EXPECT_EQ(before[0].at("response"), Json(3));
  m.store().forget(m.info().id, {m.table().id[4]});  // as another process would: the table does not know
  before.erase(before.begin() + 1);
  EXPECT_EQ(lines(), before);
}

TEST(Memory, RoutesByWhatAQuestionNames) {
  const auto sampled = sample();
  Memory& m = *sampled;
  const MemoryResult time = m.ask("What did we talk about in May?", asked());
  EXPECT_EQ(time.route, Route::time);
  EXPECT_GT(time.responses.size(), 10u);
  EXPECT_TRUE(time.ranked.empty());
  const MemoryResult topic = m.ask("What did we say about the sourdough starters?", asked());
  EXPECT_EQ(topic.route, Route::topic);
  ASSERT_FALSE(topic.ranked.empty());
  EXPECT_NE(m.text(topic.responses[0]).find("sourdough"), std::string::npos);
  const MemoryResult both = m.ask("What did Ines say about the roof in May?", asked());
  EXPECT_EQ(both.route, Route::both);
  for (const int32_t r : both.responses) {
    EXPECT_TRUE(std::binary_search(time.responses.begin(), time.responses.end(), r));
    EXPECT_EQ(m.speakers()[static_cast<size_t>(m.table().speaker[static_cast<size_t>(r)])], "Ines");
  }
  const MemoryResult neither = m.ask("So, what did we talk about?", asked());
  EXPECT_EQ(neither.route, Route::neither);
  EXPECT_EQ(neither.responses.back(), m.table().response.back());
  EXPECT_EQ(neither.notes.size(), 1u);
}

TEST(Memory, ContextSaysWhen) {
  const auto sampled = sample();
  Memory& m = *sampled;
  const std::vector<int32_t> may = m.ask("What did we discuss in May?", asked()).responses;
  AskOptions o = asked();
  o.context = {{"Ines", "I was looking at June."},
               {"Tobias", "I remember that in May we had several talks."},
               {"Ines", "Did we?"},
               {"Tobias", "Shall I tell you what they were about?"}};
  MemoryResult a = m.ask("Yes, please do.", o);
  EXPECT_EQ(a.responses, may);
  EXPECT_EQ(a.context_turn, 1);
  a = m.ask("What did we say then about the roof?", o);
  EXPECT_EQ(a.route, Route::both);
  for (const int32_t r : a.responses) EXPECT_TRUE(std::binary_search(may.begin(), may.end(), r));
  EXPECT_EQ(m.ask("What did we discuss in July?", o).context_turn, -1);  // says its own time
  o.context = {{"Tobias", "The quince jelly was the best."}};
  a = m.ask("Tell me more about it.", o);
  EXPECT_EQ(a.topic, "quince jelly");
}

TEST(Memory, AbsoluteDatesWinOverRelativeOnes) {
  const auto sampled = sample();
  Memory& m = *sampled;
  const MemoryResult a = m.ask("What did Tobias adopt a month ago, as mentioned on May 8, 2023?", asked());
  for (const int32_t r : a.responses)
    EXPECT_EQ(date_text(day_part(m.table().local(static_cast<size_t>(r)))), "2023-05-08");
  EXPECT_FALSE(a.responses.empty());
  EXPECT_FALSE(a.notes.empty());
  EXPECT_TRUE(m.ask("What did we discuss on February 31st?", asked()).responses.empty());
  EXPECT_FALSE(m.ask("What did we discuss on February 31st?", asked()).notes.empty());
}

TEST(Memory, KnowsNothingOfTheFuture) {
  const auto sampled = sample();
  Memory& m = *sampled;
  const MemoryResult a = m.ask("What did we discuss last time?", asked("2023-05-08 14:30"));
  ASSERT_FALSE(a.responses.empty());
  for (const int32_t r : a.responses)
    EXPECT_LE(time_text(m.table().local(static_cast<size_t>(r))), "2023-05-08 14:30");
  EXPECT_FALSE(a.notes.empty());
}

// The SQL a plan prints keeps the rows the answer names.
TEST(Memory, PlansAreSql) {
  const fs::path file = fs::temp_directory_path() / fmt::format("quern_plan_{}.db", getpid());
  {
    Memory m(file, {.create = true, .durable = false, .conversation = "o'log", .zone = "UTC", .gap = kUsualGap});
    m.add_all(read_conversations(golden("log.jsonl"), "UTC")[0].turns);
    SqliteFile db(file, SqliteOpen::existing);
    const std::string lines = read_file(golden("paraphrases.jsonl"));
    int compared = 0;
    for (size_t begin = 0; begin < lines.size();) {
      const size_t end = lines.find('\n', begin);
      const Json q = Json::parse(std::string_view(lines).substr(begin, end - begin));
      begin = end + 1;
      const MemoryResult a = m.ask(q.at("question").as_string(), asked(q.at("now").as_string().c_str()));
      if (a.route != Route::time) continue;
      std::vector<int32_t> rows;
      SqliteStatement s = db.prepare(a.plan.sql(m.info().id));
      while (s.step()) rows.push_back(static_cast<int32_t>(s.integer(0)));
      EXPECT_EQ(rows, a.responses) << q.at("question").as_string() << "\n" << a.plan.sql(m.info().id);
      ++compared;
    }
    EXPECT_GT(compared, 300);
  }
  for (const char* end : {"", "-wal", "-shm"}) fs::remove(file.string() + end);
}

TEST(Memory, WhatIsAddedIsFoundAtOnceAndWhatIsForgottenIsNot) {
  const auto sampled = sample();
  Memory& m = *sampled;
  const AskOptions o = asked("2024-03-15 09:00");
  EXPECT_TRUE(m.ask("What about the zeppelin?", o).ranked.empty());
  const StoredTurn t =
      m.add({"Ines", "A zeppelin flew over the mill.", parse_time_text("2024-03-15 08:30", "").local, 0});
  const MemoryResult a = m.ask("What about the zeppelin?", o);
  ASSERT_FALSE(a.responses.empty());
  EXPECT_EQ(a.responses[0], t.response);
  EXPECT_EQ(m.forget({t.response}), 1);
  EXPECT_TRUE(m.ask("What about the zeppelin?", o).ranked.empty());
  EXPECT_THROW(m.forget({t.response}), Error);
}

TEST(Memory, DaysFollowTheWallClock) {
  Memory m(":memory:",
           {.create = true, .durable = false, .conversation = "b", .zone = "Europe/Berlin", .gap = kUsualGap});
  const Zone& z = m.zone();
  const int64_t late = z.to_utc(parse_time_text("2024-03-30 23:30", "").local);
  // An hour later on the wall it is already three: the clock went forward at two.
  const int64_t after = late + 3 * 3600;
  m.add({"A", "before the change", late, z.offset_at(late)});
  m.add({"A", "after the change", after, z.offset_at(after)});
  EXPECT_EQ(time_text(m.table().local(1)), "2024-03-31 03:30:00");
  AskOptions o = asked("2024-03-31 12:00");
  EXPECT_EQ(m.ask("What did we talk about yesterday?", o).responses, (std::vector<int32_t>{0}));
  EXPECT_EQ(m.ask("What did we talk about today?", o).responses, (std::vector<int32_t>{1}));
}

TEST(Memory, HostileQuestions) {
  const auto sampled = sample();
  Memory& m = *sampled;
  for (const char* q : {"'; DROP TABLE turn; --", "", "????", "\xff\xfe on May 8",
                        "What did O'Brien'); DELETE FROM turn; say in May?"})
    EXPECT_NO_THROW(m.ask(q, asked())) << q;
  EXPECT_THROW(m.ask(std::string(10 << 20, 'a'), asked()), Error);
  EXPECT_EQ(m.store().load(m.info()).size(), m.table().size());
}

TEST(Memory, ScoresOfTheDataSet) {
  EXPECT_DOUBLE_EQ(score({1, 2, 3, 4}, {3, 4, 5}).recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(score({1, 2, 3, 4}, {3, 4, 5}).precision, 0.5);
  EXPECT_NEAR(score({1, 2, 3, 4}, {3, 4, 5}).f2, 5 * 0.5 * (2.0 / 3) / (4 * 0.5 + 2.0 / 3), 1e-12);
  EXPECT_EQ(score({}, {1}).f2, 0);
  const char* named = std::getenv("QUERN_TEMPORAL_MEMORY");
  const fs::path dir = named ? named : fs::path(QUERN_SOURCE_DIR) / "../shared/data/temporal-memory";
  if (!fs::exists(dir)) GTEST_SKIP() << "no " << dir.string() << " (QUERN_TEMPORAL_MEMORY names another place)";
  EvalOptions o;
  o.resamples = 1;
  Json j = evaluate_memory(dir, o);
  EXPECT_GE(j.at("time").at("f2").as_double(), 95);
  EXPECT_GE(j.at("ambiguous").at("f2").as_double(), 94);
  EXPECT_GE(j.at("time_content").at("k3").at("f2").as_double(), 47);
  EXPECT_GE(j.at("time_content").at("k10").at("recall").as_double(), 86);
  o.semantics = Semantics::tmd;
  j = evaluate_memory(dir, o);
  EXPECT_GE(j.at("time").at("f2").as_double(), 99);
}

TEST(Memory, TheFirstAndTheLastThingThatSomebodySaid) {
  Memory m(":memory:", {.create = true, .conversation = "c"});
  std::vector<SpokenTurn> turns;
  for (const auto& [who, text, when] :
       std::initializer_list<std::array<const char*, 3>>{{"Ada", "The mill stands still.", "2023-05-01 10:00"},
                                                         {"Ben", "Then we bake.", "2023-05-01 10:01"},
                                                         {"Ada", "Fine by me.", "2023-05-01 10:02"},
                                                         {"Ben", "The dog is sick.", "2023-05-06 09:00"},
                                                         {"Ada", "Call the vet.", "2023-05-06 09:01"},
                                                         {"Ben", "Done.", "2023-05-06 09:02"}})
    turns.push_back({who, text, parse_time_text(when, "t").local, 0});
  m.add_all(turns);
  const std::pair<const char*, int32_t> expected[] = {{"What was the first thing I said?", 0},
                                                      {"What was the last thing I said?", 4},
                                                      {"What was the last message I sent?", 4},
                                                      {"What was my last message?", 4},
                                                      {"my first message", 0},
                                                      {"What was your first message?", 1},
                                                      {"the last thing you said to me", 5},
                                                      {"What was the very first thing I told you?", 0},
                                                      {"What did I say last?", 4},
                                                      {"What did I say first?", 0},
                                                      {"What did Ben say last on Monday?", 1},
                                                      {"What was the last thing I said on Monday?", 2}};
  AskOptions o = asked("2023-05-08 13:56");
  o.asker = "Ada";
  for (const auto& [question, response] : expected) {
    const MemoryResult r = m.ask(question, o);
    EXPECT_EQ(r.responses, std::vector<int32_t>{response}) << question;
    EXPECT_TRUE(r.notes.empty()) << question;
  }
}

// The best of all turns are another speaker's: those of the one who is asked about are found behind them.
TEST(Memory, OneSpeakersBestAmongManyBetterOnes) {
  Memory m(":memory:", {.create = true, .conversation = "c"});
  std::vector<SpokenTurn> turns;
  for (int i = 0; i < 6000; ++i) {
    const bool ada = i % 8 == 0;
    std::string text = ada ? "we spoke at length about many things and one of them was bread" : "bread bread";
    if (ada && i % 400 != 0) text = "nothing of the kind";
    turns.push_back({ada ? "Ada" : "Bo", text, 1'700'000'000 + i * 2000, 0});
  }
  m.add_all(turns);
  AskOptions o;
  o.now = 1'700'000'000 + 6000 * 2000 + 60;
  const MemoryResult all = m.ask("What did Ada say about bread?", o);
  ASSERT_EQ(all.responses.size(), 10u);
  for (const int32_t r : all.responses) EXPECT_EQ(r % 400, 0) << r;
  o.k = 20;
  EXPECT_EQ(m.ask("What did Ada say about bread?", o).responses.size(), 15u);
  EXPECT_FALSE(all.many_runs);
  EXPECT_EQ(all.within.size(), 750u);
}

TEST(Memory, NothingIsThereBeforeTheFirstTurn) {
  Memory m(":memory:", {.create = true, .conversation = "c"});
  m.add({"Ada", "the bread is here", 1'700'000'000, 0});
  AskOptions o;
  o.now = 1'600'000'000;
  for (const char* question :
       {"What about the bread?", "What did Ada say about the bread?", "What did we say yesterday?"})
    for (const TopicRank rank : {TopicRank::automatic, TopicRank::bm25, TopicRank::mixpr, TopicRank::both}) {
      o.rank = rank;
      const MemoryResult a = m.ask(question, o);
      EXPECT_TRUE(a.responses.empty()) << question;
      EXPECT_FALSE(a.notes.empty()) << question;
    }
}

TEST(Memory, EverybodyButOneOfMany) {
  Memory m(":memory:", {.create = true, .conversation = "c"});
  const char* speakers[] = {"Mira", "Tobias", "Nan", "Jonas"};
  for (int i = 0; i < 8; ++i) m.add({speakers[i % 4], "the printer and the tea", 1'700'000'000 + i * 60, 0});
  AskOptions o;
  o.now = 1'700'000'000 + 86'400;
  const std::vector<int32_t> others = {0, 2, 3, 4, 6, 7};
  for (const char* question :
       {"What did everybody but Tobias say yesterday?", "What did everyone except Tobias say yesterday?",
        "Who besides Tobias spoke yesterday?", "What did we say yesterday apart from Tobias?",
        "What did anyone other than Tobias say yesterday?", "Was haben alle außer Tobias gestern gesagt?"})
    EXPECT_EQ(m.ask(question, o).responses, others) << question << "\n" << m.ask(question, o).plan.text();
  o.k = 3;
  const MemoryResult a = m.ask("What did everyone but Tobias say about the tea yesterday?", o);
  EXPECT_EQ(a.responses.size(), 3u);
  for (const int32_t r : a.responses) EXPECT_NE(r % 4, 1);
  EXPECT_EQ(m.ask("What did Tobias say yesterday?", o).responses, (std::vector<int32_t>{1, 5}));
}

}  // namespace
}  // namespace quern::memory
