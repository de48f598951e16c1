// The index of words in segments: answers as one index gives them, also from files, after turns of others, and after
// forgetting, which leaves no key of a forgotten word behind.
#include "quern/memory/topic/topic_index.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/memory/ask/memory.h"
#include "quern/memory/topic/topic_builder.h"

namespace quern::memory {
namespace {

namespace fs = std::filesystem;

struct TopicFolder {
  fs::path path = fs::temp_directory_path() / fmt::format("quern_topics_{}_{}", getpid(), count++);
  TopicFolder() { fs::create_directories(path); }
  ~TopicFolder() { fs::remove_all(path); }
  fs::path db() const { return path / "talks.db"; }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    const fs::path topics = path / "talks.db-topics";
    if (fs::exists(topics))
      for (const auto& e : fs::directory_iterator(topics)) out.push_back(e.path());
    std::sort(out.begin(), out.end());
    return out;
  }
  static inline int count = 0;
};

std::vector<SpokenTurn> talk(int64_t n) {
  Rng rng(4);
  std::vector<SpokenTurn> turns;
  for (int64_t i = 0; i < n; ++i) {
    std::string text = fmt::format("unique{}", i);
    for (uint64_t w = 3 + rng.below(12); w > 0; --w)
      text += fmt::format(" w{}", static_cast<int>(std::pow(500, rng.uniform())));
    turns.push_back({i % 3 ? "Ada" : "Bo", text, 1'600'000'000 + i * 400 + i / 20 * 4000, 0});
  }
  return turns;
}

MemoryOptions options(int32_t segment) {
  return {.create = true,
          .durable = false,
          .conversation = "c",
          .zone = "UTC",
          .gap = kUsualGap,
          .topic_segment_turns = segment};
}

AskOptions late() {
  AskOptions o;
  o.now = 1'700'000'000, o.k = 12, o.rank = TopicRank::bm25;
  return o;
}

void expect_alike(Memory& a, Memory& b, uint64_t seed = 1) {
  Rng rng(seed);
  for (int q = 0; q < 12; ++q) {
    const std::string words = fmt::format("w{} w{} w{}", rng.below(400), rng.below(60), rng.below(400));
    const std::string question = q % 2 ? words + "?" : fmt::format("What did Ada say about {}?", words);
    const MemoryResult x = a.ask(question, late()), y = b.ask(question, late());
    ASSERT_EQ(x.ranked.size(), y.ranked.size()) << question;
    for (size_t i = 0; i < x.ranked.size(); ++i) EXPECT_NEAR(x.ranked[i].score, y.ranked[i].score, 1e-4);
    ASSERT_FALSE(x.ranked.empty());
    EXPECT_EQ(x.responses[0], y.responses[0]);
  }
}

int32_t best(Memory& m, const std::string& question) {
  const MemoryResult a = m.ask(question, late());
  return a.responses.empty() ? -1 : a.responses[0];
}

TEST(TopicIndex, SegmentsAnswerAsOne) {
  TopicFolder d;
  const auto turns = talk(330);
  Memory one(":memory:", options(1 << 16));
  one.add_all(turns);
  Memory many(d.db(), options(64));
  many.add_all(turns);
  expect_alike(one, many);
  EXPECT_EQ(d.files().size(), 5u);  // the sixth segment grows
  Memory again(d.db(), options(64));
  expect_alike(one, again);
  for (int64_t i = 330; i < 460; ++i) {  // what is added is found at once, across the ends of segments
    auto more = talk(460);
    one.add(more[static_cast<size_t>(i)]), again.add(more[static_cast<size_t>(i)]);
    if (i % 13 == 0) {
      EXPECT_EQ(again.ask(fmt::format("unique{}", i), late()).responses[0], i);
    }
  }
  expect_alike(one, again, 2);
  EXPECT_EQ(d.files().size(), 7u);
  expect_alike(one, many, 3);  // which sees what the other connection added
}

TEST(TopicIndex, ForgettingTakesTheFilesAlong) {
  TopicFolder d;
  const auto turns = talk(330);
  Memory m(d.db(), options(64));
  m.add_all(turns);
  m.index_topics();
  Memory other(d.db(), options(64));
  other.index_topics();
  const auto held = [&](const std::string& word) {
    const uint64_t key = recall::word_key(word);
    std::string_view bytes(reinterpret_cast<const char*>(&key), 8);
    int n = 0;
    for (const fs::path& f : d.files()) n += read_file(f).find(bytes) != std::string::npos;
    return n;
  };
  EXPECT_EQ(held("unique70"), 1);
  EXPECT_EQ(m.forget({70, 191, 5}), 3);
  EXPECT_EQ(d.files().size(), 2u);
  for (const char* w : {"unique70", "unique191", "unique5"}) EXPECT_EQ(held(w), 0);
  EXPECT_TRUE(m.ask("unique70", late()).ranked.empty());
  EXPECT_TRUE(other.ask("unique191", late()).ranked.empty());
  Memory left(":memory:", options(1 << 16));
  std::vector<SpokenTurn> rest;
  for (size_t i = 0; i < turns.size(); ++i)
    if (i != 5 && i != 70 && i != 191) rest.push_back(turns[i]);
  left.add_all(rest);
  Rng rng(3);
  for (int q = 0; q < 10; ++q) {
    const std::string question = fmt::format("w{} w{}", rng.below(400), rng.below(90));
    const MemoryResult x = m.ask(question, late()), y = left.ask(question, late());
    ASSERT_EQ(x.ranked.size(), y.ranked.size());
    for (size_t i = 0; i < x.ranked.size(); ++i) EXPECT_NEAR(x.ranked[i].score, y.ranked[i].score, 1e-4);
  }
  EXPECT_EQ(d.files().size(), 5u);  // written anew, without them
  for (const char* w : {"unique70", "unique191", "unique5"}) EXPECT_EQ(held(w), 0);
  EXPECT_EQ(held("unique71"), 1);
  m.store().forget_conversation(m.info().id);
  EXPECT_TRUE(d.files().empty());
}

TEST(TopicIndex, FilesOfOtherTurnsAndDamagedOnesDoNotCount) {
  TopicFolder d;
  const auto turns = talk(200);
  {
    Memory m(d.db(), options(64));
    m.add_all(turns);
    m.index_topics();
  }
  const auto files = d.files();
  ASSERT_EQ(files.size(), 3u);
  write_file(files[1], read_file(files[0]));  // sound, but of other turns
  std::string bytes = read_file(files[2]);
  bytes[bytes.size() / 2] ^= 1;
  write_file(files[2], bytes);
  Memory one(":memory:", options(1 << 16));
  one.add_all(turns);
  Memory m(d.db(), options(64));
  expect_alike(one, m);
  EXPECT_NE(read_file(files[1]), read_file(files[0]));
  Memory again(d.db(), options(64));
  expect_alike(one, again);
}

// Of one speaker and time each: ids and numbers are those of talk(), the texts are not.
std::vector<SpokenTurn> other_talk(int64_t n) {
  std::vector<SpokenTurn> turns = talk(n);
  for (size_t i = 0; i < turns.size(); ++i) turns[i].text = fmt::format("different{} {}", i, turns[n - 1 - i].text);
  return turns;
}

TEST(TopicIndex, FilesOfAnotherDatabaseDoNotCount) {
  TopicFolder d;
  {
    Memory m(d.db(), options(64));
    m.add_all(talk(200));
    m.index_topics();
  }
  ASSERT_EQ(d.files().size(), 3u);
  const std::string before = read_file(d.files()[0]);
  fs::copy(d.path / "talks.db-topics", d.path / "aside");
  for (const char* name : {"talks.db", "talks.db-wal", "talks.db-shm"}) fs::remove(d.path / name);
  const auto turns = other_talk(200);
  Memory one(":memory:", options(1 << 16));
  one.add_all(turns);
  {
    Memory m(d.db(), options(64));
    EXPECT_TRUE(d.files().empty());  // made anew: nothing beside it is its own
    for (const auto& e : fs::directory_iterator(d.path / "aside"))
      fs::copy(e.path(), d.path / "talks.db-topics" / e.path().filename());
    m.add_all(turns);
    EXPECT_EQ(best(m, "different70"), 70);
    expect_alike(one, m);
  }
  EXPECT_NE(read_file(d.files()[0]), before);
  write_file(d.files()[0], before);  // under a name that the database knows
  Memory again(d.db(), options(64));
  EXPECT_EQ(best(again, "different7"), 7);
  expect_alike(one, again);
}

TEST(TopicIndex, FilesOfLaterTurnsDoNotCountForAnOlderCopy) {
  TopicFolder d;
  const auto first = talk(100), usual = talk(200), others = other_talk(200);
  {
    Memory m(d.db(), options(64));
    m.add_all(first);
    m.index_topics();
  }
  fs::copy(d.db(), d.path / "copy.db");
  {
    Memory m(d.db(), options(64));
    m.add_all({usual.begin() + 100, usual.end()});
    m.index_topics();
  }
  ASSERT_EQ(d.files().size(), 3u);
  const fs::path second = d.files()[1];
  const std::string later = read_file(second);
  fs::copy(d.path / "copy.db", d.db(), fs::copy_options::overwrite_existing);
  Memory m(d.db(), options(64));
  EXPECT_EQ(d.files().size(), 1u);
  write_file(second, later);
  m.add_all({others.begin() + 100, others.end()});
  EXPECT_EQ(best(m, "different110"), 110);
  EXPECT_EQ(d.files().size(), 3u);
}

// What a crash between writing and naming left goes with the turns, and with the next file of the segment.
TEST(TopicIndex, ForgettingTakesUnfinishedFilesToo) {
  TopicFolder d;
  Memory m(d.db(), options(64));
  m.add_all(talk(330));
  m.index_topics();
  ASSERT_EQ(d.files().size(), 5u);
  const fs::path second = d.files()[1], third = d.files()[2];
  for (const char* end : {".new", ".new.part", ".00c0ffee00c0ffee"}) write_file(second.string() + end, "unique70");
  write_file(third.string() + ".part", "unique140");
  EXPECT_EQ(m.forget({70}), 1);
  EXPECT_EQ(d.files().size(), 5u);  // four whole ones, and what is beside the third
  for (const fs::path& f : d.files()) EXPECT_FALSE(f.filename().string().starts_with(second.filename().string()));
  write_file(second.string() + ".0123456789abcdef", "unique70");
  m.index_topics();
  EXPECT_TRUE(fs::exists(second));
  EXPECT_EQ(d.files().size(), 6u);
}

// Four write the same segments at once: what has the name in the end is one of theirs, whole, and nothing beside it.
TEST(TopicIndex, ManyMayWriteTheSameSegment) {
  TopicFolder d;
  const auto turns = talk(330);
  Memory(d.db(), options(64)).add_all(turns);
  for (int round = 0; round < 6; ++round) {
    std::vector<std::jthread> writers;
    for (int w = 0; w < 4; ++w)
      writers.emplace_back([&] {
        Memory m(d.db(), options(64));
        m.index_topics();
      });
    writers.clear();
    EXPECT_EQ(d.files().size(), 5u);
    Memory m(d.db(), options(64));
    TopicIndex index(m.store(), m.info().id);
    index.follow(m.table());
    EXPECT_EQ(index.mapped_segments(), 5u);
    std::vector<int32_t> asked;
    for (int32_t segment = 0; segment < 5; ++segment) {
      asked.push_back(segment * 64 + 1 + round);
      EXPECT_EQ(m.ask(fmt::format("unique{}", asked.back()), late()).responses[0], asked.back());
    }
    m.forget(asked);
    EXPECT_TRUE(d.files().empty());
  }
}

TEST(TopicIndex, AFailureLeavesNoEmptySegmentBehind) {
  TopicFolder d;
  const auto turns = talk(200);
  ConversationStore store(d.db(), {.create = true, .durable = false, .topic_segment_turns = 64});
  const ConversationInfo c = store.create("c", "UTC", kUsualGap);
  store.append_all(c.id, turns);
  const TurnTable before = store.load(c);
  store.forget(c.id, {before.id[70]});
  TopicIndex index(store, c.id);
  EXPECT_THROW(index.follow(before), Error);  // the first segment is as it was, the second is not
  EXPECT_FALSE(index.has_unwritten());
  const TurnTable now = store.load(c);
  index.follow(now);
  ASSERT_EQ(index.top("unique5", 3).size(), 1u);
  EXPECT_EQ(index.top("unique5", 3)[0].id, before.id[5]);
  EXPECT_TRUE(index.top("unique70", 3).empty());
  TurnTable wrong = now;  // as many turns, one of them another
  wrong.id[100] = 1 << 20;
  TopicIndex other(store, c.id);
  for (const fs::path& f : d.files()) fs::remove(f);
  EXPECT_THROW(other.follow(wrong), Error);
  other.follow(now);
  EXPECT_EQ(other.top("unique101", 3).size(), 1u);
}

TEST(Topic, WordsOfTalkThatSayWhatAbout) {
  const auto words = [](const char* question) {
    return topic_of(question, parse_time(question, {}), {"ada", "ben"}).text();
  };
  EXPECT_EQ(words("What did Ada say about making memories with the family?"), "memories family");
  EXPECT_EQ(words("What did we say about the plan for the roof?"), "plan roof");
  EXPECT_EQ(words("What did Ben tell us about her idea?"), "idea");
  EXPECT_EQ(words("What does Ada do to de-stress?"), "de stress");
  EXPECT_EQ(words("What did we say in our catch-up?"), "");
  EXPECT_EQ(words("What was the plan that we talked about in our meeting?"), "");
  EXPECT_EQ(words("What did we talk about at the meeting?"), "");
}

TEST(TopicBuilder, AnswersAsAnIndexMadeInTheQuestionsTime) {
  TopicFolder d;
  const auto turns = talk(460);
  Memory one(":memory:", options(1 << 16));
  Memory(d.db(), options(64)).add_all({turns.begin(), turns.begin() + 330});
  one.add_all({turns.begin(), turns.begin() + 330});
  MemoryOptions o = options(64);
  o.background = true;
  Memory m(d.db(), o);
  for (size_t i = 330; i < 460; ++i) one.add(turns[i]), m.add(turns[i]);  // while it is made, or after it
  expect_alike(one, m);
  EXPECT_EQ(d.files().size(), 7u);
  EXPECT_EQ(best(m, "unique459"), 459);
  {
    Memory again(d.db(), o);  // opened and left
  }
  Memory third(d.db(), o);
  while (!third.topics_ready()) std::this_thread::yield();
  EXPECT_EQ(third.forget({70, 455}), 2);  // what it was made of is no more
  EXPECT_TRUE(third.ask("unique70", late()).ranked.empty());
  EXPECT_TRUE(third.ask("unique455", late()).ranked.empty());
  EXPECT_EQ(best(third, "unique456"), 456);
}

TEST(TopicBuilder, StopsBetweenSegmentsAndLeavesNothingHalfMade) {
  TopicFolder d;
  ConversationStore store(d.db(), {.create = true, .durable = false, .topic_segment_turns = 64});
  const ConversationInfo c = store.create("c", "UTC", kUsualGap);
  store.append_all(c.id, talk(330));
  std::jthread([&](const std::stop_token&) {  // of its own: it stands back behind all others from here on
    std::stop_source asked;
    asked.request_stop();
    EXPECT_EQ(build_topics(store, c, asked.get_token()), nullptr);
    EXPECT_TRUE(d.files().empty());
    EXPECT_NE(build_topics(store, c, {}), nullptr);
  })
      .join();
  EXPECT_EQ(d.files().size(), 5u);
}

// A question that takes long to read, and another connection that forgets the oldest turns all the while: an answer
// is of one table, or says that the conversation changed.
TEST(Memory, AQuestionIsOfOneTable) {
  TopicFolder d;
  const auto turns = talk(400);
  Memory m(d.db(), options(1 << 16));
  m.add_all(turns);
  std::string question = "What did Ada say about w0, w1, w2, w3";
  while (question.size() < 60'000) question += " and and and and of the the the";
  AskOptions o = late();
  o.k = 400;  // what a neighbor's score reaches is told apart by its row alone
  std::atomic<bool> done = false;
  std::jthread forgetter([&] {
    Memory other(d.db(), options(1 << 16));
    for (int32_t r = 0; r < 60; ++r) other.forget({r});
    done = true;
  });
  int answers = 0;
  do {
    MemoryResult a;
    try {
      a = m.ask(question, o);
    } catch (const Error&) {
      continue;
    }
    ++answers;
    ASSERT_FALSE(a.responses.empty());
    for (const int32_t r : a.responses) EXPECT_EQ(turns[static_cast<size_t>(r)].speaker, "Ada") << r;
  } while (!done || answers == 0);
}

// Who answers has not the words of the question; and a question need not be answered by the next speaker.
TEST(TopicRank, AnswersFollowQuestions) {
  Memory m(":memory:", {.create = true, .conversation = "c"});
  const char* const said[][2] = {{"Ada", "My family is a great family."},
                                 {"Ben", "Lovely to hear."},
                                 {"Ada", "How is the bread?"},
                                 {"Ben", "Fresh."},
                                 {"Ada", "Tell me, what does your family do on Sundays?"},
                                 {"Ben", "We hike and watch films."},
                                 {"Ada", "Right."}};
  LocalSeconds at = parse_time_text("2023-05-02 10:00", "t").local;
  for (const auto& [who, text] : said) m.add({who, text, at += 20, 0});
  AskOptions o;
  o.now = at + 86'400, o.k = 3;
  for (const TopicRank rank : {TopicRank::automatic, TopicRank::bm25, TopicRank::both}) {
    o.rank = rank;
    EXPECT_EQ(m.ask("What did Ben say about the family?", o).responses[0], 5) << static_cast<int>(rank);
  }
  o.neighbor = 0;
  EXPECT_FALSE(m.ask("What did Ben say about the family?", o).ranked.size() > 0);
}

TEST(TopicRank, WalksReachWhatSharesNoWordWithTheQuestion) {
  Memory m(":memory:", options(1 << 16));
  std::vector<SpokenTurn> turns = talk(200);
  for (auto& t : turns) t.utc = 1'600'000'000 + (&t - turns.data()) * 40'000;  // a session each: no neighbors
  turns[40].text = "Mara took the lantern";
  turns[90].text = "Mara walked to the orchard";
  turns[100].text = "the orchard belongs to Tobias";
  m.add_all(turns);
  AskOptions o = late();
  o.k = 3;
  EXPECT_EQ(m.ask("Where is the lantern?", o).responses, std::vector<int32_t>{40});
  for (const TopicRank rank : {TopicRank::mixpr, TopicRank::both}) {
    o.rank = rank;
    EXPECT_EQ(m.ask("Where is the lantern?", o).responses, (std::vector<int32_t>{40, 90, 100}));
    EXPECT_TRUE(m.ask("Where is the submarine?", o).responses.empty());
  }
  // Left to itself: a walk among the turns of a time, BM25 among all.
  o.rank = TopicRank::automatic;
  EXPECT_EQ(m.ask("Where is the lantern?", o).responses, std::vector<int32_t>{40});
  EXPECT_EQ(m.ask("Where was the lantern in October 2020?", o).responses, (std::vector<int32_t>{40, 90, 100}));
  EXPECT_EQ(topic_rank("both"), TopicRank::both);
  EXPECT_THROW(topic_rank("mix"), Error);
}

}  // namespace
}  // namespace quern::memory
