// Turns that come late, or from the future: they stand where their time belongs, whatever the order in which they came.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/memory/store/import.h"
#include "quern/memory/store/store.h"

namespace quern::memory {
namespace {

constexpr int64_t kGap = 1200;

SpokenTurn at(int64_t utc) { return {"Ada", fmt::format("said at {}", utc), utc, 0}; }

struct Numbered {
  ConversationStore store{":memory:", {.create = true}};
  ConversationInfo conversation = store.create("x", "UTC", kGap);
  StoredTurn add(int64_t utc) { return store.append(conversation.id, at(utc)); }
  std::vector<int32_t> sessions() { return store.load(conversation).session; }
};

TEST(LateTurns, JoinOrBeginASession) {
  Numbered n;
  n.add(0), n.add(10'000), n.add(20'000);
  EXPECT_EQ(n.add(10'900).session, 2);  // behind the second
  EXPECT_EQ(n.add(9'000).session, 2);   // before it
  const StoredTurn between = n.add(5'000);
  EXPECT_EQ(between.session, 2);
  EXPECT_TRUE(between.late && between.moved_sessions);
  EXPECT_EQ(n.add(-9'000).session, 1);  // the first of all
  const TurnTable t = n.store.load(n.conversation);
  EXPECT_EQ(t.utc, (std::vector<int64_t>{-9'000, 0, 5'000, 9'000, 10'000, 10'900, 20'000}));
  EXPECT_EQ(t.session, (std::vector<int32_t>{1, 2, 3, 4, 4, 4, 5}));
  EXPECT_EQ(t.response, (std::vector<int32_t>{6, 0, 5, 4, 1, 3, 2}));  // numbers are those of arrival
  EXPECT_FALSE(n.add(20'100).late);
  EXPECT_EQ(n.add(30'000).session, 6);
}

// A turn whose clock is a century ahead: what is said now is still taken, and its own session is the last.
TEST(LateTurns, TheFutureLocksNothing) {
  Numbered n;
  n.add(1'000);
  EXPECT_EQ(n.add(3'000'000'000).session, 2);
  EXPECT_EQ(n.add(1'500).session, 1);
  EXPECT_EQ(n.add(50'000).session, 2);
  EXPECT_EQ(n.add(50'001).session, 2);
  EXPECT_EQ(n.sessions(), (std::vector<int32_t>{1, 1, 2, 2, 3}));
  const TurnTable t = n.store.load(n.conversation);
  EXPECT_EQ(n.store.forget(n.conversation.id, {t.id.back()}), 1);
  const StoredTurn next = n.add(90'000);
  EXPECT_FALSE(next.late);
  EXPECT_EQ(next.session, 4);  // numbers are not given twice
}

// What a session is, by definition: turns in order of time, cut where the silence is longer than the gap.
TEST(LateTurns, AnyOrderGivesTheSameSessions) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Rng rng(seed);
    std::vector<int64_t> times(40);
    for (size_t i = 0; i < times.size(); ++i) times[i] = static_cast<int64_t>(rng.bits(i) % 60'000);
    // A turn may come between two sessions and within the gap of both, which then stay two: keep away from this.
    std::set<int64_t> clusters;
    for (int64_t& t : times) t = t / 3'000 * 3'000 + t % 100, clusters.insert(t / 3'000);
    Numbered one, many;
    for (const int64_t t : times) one.add(t);
    std::vector<SpokenTurn> turns;
    for (const int64_t t : times) turns.push_back(at(t));
    many.store.append_all(many.conversation.id, turns);
    const TurnTable a = one.store.load(one.conversation), b = many.store.load(many.conversation);
    EXPECT_TRUE(std::is_sorted(a.utc.begin(), a.utc.end()));
    EXPECT_EQ(a.session, b.session) << seed;
    EXPECT_EQ(a.response, b.response) << seed;
    EXPECT_EQ(a.session.back(), static_cast<int32_t>(clusters.size()));
    for (size_t i = 0; i < a.size(); ++i) {
      if (i > 0) {
        EXPECT_EQ(a.session[i] - a.session[i - 1], a.utc[i] - a.utc[i - 1] > kGap ? 1 : 0) << seed;
      }
      EXPECT_EQ(a.row_of(a.response[i]), i);
      EXPECT_EQ(a.row_of_id(a.id[i]), i);
    }
  }
}

// Also where a turn lies between two others and within the gap of both.
TEST(LateTurns, ManyAtOnceInAnyOrderAreCutAsSorted) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Rng rng(seed);
    std::vector<SpokenTurn> turns;
    for (uint64_t i = 0; i < 40; ++i) turns.push_back(at(static_cast<int64_t>(rng.bits(i) % 60'000)));
    Numbered mixed, sorted;
    mixed.store.append_all(mixed.conversation.id, turns);
    std::stable_sort(turns.begin(), turns.end(), [](const auto& a, const auto& b) { return a.utc < b.utc; });
    const std::vector<StoredTurn> placed = sorted.store.append_all(sorted.conversation.id, turns);
    EXPECT_EQ(mixed.sessions(), sorted.sessions()) << seed;
    const SpokenTurn next = at(80'000);
    EXPECT_EQ(mixed.store.append(mixed.conversation.id, next).session, placed.back().session + 1) << seed;
    EXPECT_EQ(sorted.store.append(sorted.conversation.id, next).session, placed.back().session + 1) << seed;
  }
}

// Lines are numbered by their times; those of an export, where a late turn has a later number, by what they say.
TEST(LateTurns, AnImportKeepsTheNumbersOfAnExport) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("quern_import_{}.jsonl", ::getpid());
  const auto texts = [&](const char* of_first, const char* of_second) {
    std::ofstream(file) << R"({"speaker": "Ada", "text": "late", "time": "2024-05-01 10:00")" << of_first << "}\n"
                        << R"({"speaker": "Ben", "text": "early", "time": "2024-04-01 10:00")" << of_second << "}\n";
    std::string out;
    for (const SpokenTurn& t : read_conversations(file, "UTC").at(0).turns) out += t.text + " ";
    return out;
  };
  EXPECT_EQ(texts("", ""), "early late ");
  EXPECT_EQ(texts(R"(, "response": 0)", R"(, "response": 1)"), "late early ");
  EXPECT_EQ(texts(R"(, "response": 9)", R"(, "response": 4)"), "early late ");
  EXPECT_EQ(texts(R"(, "response": 0)", ""), "early late ");
  EXPECT_THROW(texts(R"(, "response": "x")", ""), Error);
  std::filesystem::remove(file);
}

TEST(LateTurns, TheTableGrowsAsItIsLoaded) {
  const Rng rng(7);
  Numbered n;
  TurnTable grown;
  for (uint64_t i = 0; i < 200; ++i) {
    const auto utc = static_cast<int64_t>(rng.bits(i) % 100'000);
    const StoredTurn s = n.add(utc);
    const size_t row = grown.insert({s.id, s.response, s.session, s.speaker, utc, 0});
    if (s.moved_sessions)
      for (size_t r = row + 1; r < grown.size(); ++r) ++grown.session[r];
  }
  const TurnTable loaded = n.store.load(n.conversation);
  EXPECT_EQ(grown.id, loaded.id);
  EXPECT_EQ(grown.session, loaded.session);
  EXPECT_EQ(grown.arrived, loaded.arrived);
  EXPECT_EQ(grown.utc, loaded.utc);
  EXPECT_EQ(grown.said, loaded.said);
  // Runs of numbers hold the rows they are of, and no others.
  std::vector<uint32_t> rows;
  for (uint32_t r = 0; r < loaded.size(); ++r)
    if (rng.bits(1000 + r) % 3 == 0) rows.push_back(r);
  std::vector<int32_t> wanted, got;
  for (const uint32_t r : rows) wanted.push_back(loaded.response[r]);
  for (const auto& [lo, hi] : loaded.runs(RowRuns::of(rows)))
    for (int32_t k = lo; k <= hi; ++k) got.push_back(k);
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(got, wanted);
}

TEST(ConversationUsers, HaveTheirOwnNames) {
  ConversationStore s(":memory:", {.create = true});
  const ConversationInfo nobody = s.create("kitchen", "UTC", kGap), ada = s.create("kitchen", "UTC", kGap, "ada");
  EXPECT_NE(nobody.id, ada.id);
  EXPECT_EQ(s.find("kitchen").id, nobody.id);
  EXPECT_EQ(s.find("", "ada").id, ada.id);
  EXPECT_FALSE(s.look_up("kitchen", "ben"));
  EXPECT_THROW(s.create("kitchen", "UTC", kGap, "ada"), Error);
  EXPECT_EQ(s.names().size(), 2u);
  EXPECT_EQ(s.look_up(ada.id)->user, "ada");
  s.forget_conversation(ada.id);
  EXPECT_GT(s.create("hall", "UTC", kGap, "ada").id, ada.id);  // ids are not given twice
}

// A file of the first version, which knew no users and took turns in order of time only.
TEST(ConversationUsers, TheFirstVersionIsRead) {
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("quern_memory_v1_{}.db", ::getpid())).string();
  std::filesystem::remove(file);
  {
    SqliteFile db(file, SqliteOpen::create);
    db.execute(R"(
CREATE TABLE conversation(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, zone TEXT NOT NULL,
  gap INTEGER NOT NULL, next_resp INTEGER NOT NULL DEFAULT 0, last_session INTEGER NOT NULL DEFAULT 0, last_ts INTEGER);
CREATE TABLE speaker(id INTEGER PRIMARY KEY, conv INTEGER NOT NULL, number INTEGER NOT NULL,
  name TEXT NOT NULL, UNIQUE(conv, name), UNIQUE(conv, number));
CREATE TABLE turn(id INTEGER PRIMARY KEY, conv INTEGER NOT NULL, resp INTEGER NOT NULL,
  session INTEGER NOT NULL, speaker INTEGER NOT NULL, ts INTEGER NOT NULL, tz_off INTEGER NOT NULL,
  day INTEGER NOT NULL, dow INTEGER NOT NULL, week INTEGER NOT NULL, tod INTEGER NOT NULL, text TEXT NOT NULL,
  UNIQUE(conv, resp));
CREATE INDEX turn_day ON turn(conv, day);
CREATE INDEX turn_session ON turn(conv, session);
INSERT INTO conversation VALUES(3, 'kitchen', 'Europe/Berlin', 600, 2, 1, 5000);
INSERT INTO speaker VALUES(1, 3, 0, 'Ada');
INSERT INTO turn VALUES(1, 3, 0, 1, 0, 4900, 3600, 0, 3, 197001, 8500, 'one');
INSERT INTO turn VALUES(2, 3, 1, 1, 0, 5000, 3600, 0, 3, 197001, 8600, 'two');
PRAGMA user_version = 1;
)");
  }
  for (int time = 0; time < 2; ++time) {
    ConversationStore s(file, {});
    const ConversationInfo c = s.find("kitchen");
    EXPECT_EQ(c.id, 3);
    EXPECT_EQ(c.zone, "Europe/Berlin");
    EXPECT_EQ(c.gap, 600);
    EXPECT_EQ(c.user, "");
    EXPECT_EQ(s.append(c.id, at(9'000 + time)).response, 2 + time);
    EXPECT_EQ(s.load(c).session, time == 0 ? (std::vector<int32_t>{1, 1, 2}) : (std::vector<int32_t>{1, 1, 2, 2}));
    EXPECT_GT(s.create(fmt::format("new {}", time), "UTC", kGap).id, 3);
    s.check();
  }
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file + end);
}

}  // namespace
}  // namespace quern::memory
