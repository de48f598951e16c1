// A memory that two programs write, in any order of time, answers as one that is opened afterwards; a pool keeps
// conversations apart and sees what others delete.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/memory/ask/turn_lines.h"
#include "quern/memory/service/conversation_pool.h"
#include "quern/memory/service/turns.h"

namespace quern::memory {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMonday = 1'778'500'800;  // 2026-05-11 12:00 UTC

class MemoryFile : public testing::Test {
 protected:
  MemoryFile() { fs::create_directories(folder_); }
  ~MemoryFile() override { fs::remove_all(folder_); }
  const fs::path folder_ = fs::temp_directory_path() / fmt::format("quern_service_{}", ::getpid());
  const fs::path file_ = folder_ / "m.db";
};

std::string lines_of(Memory& m) {
  std::string all;
  each_turn_line(m, 0, INT32_MAX, [&](const Json& line) { all += line.dump() + "\n"; });
  return all;
}

TEST_F(MemoryFile, TwoWritersInAnyOrder) {
  const MemoryOptions options{.create = true, .conversation = "x", .topic_segment_turns = 16};
  Memory a(file_, options), b(file_, options);
  const Rng rng(11);
  const char* words[] = {"mill", "bread", "kiln", "lantern", "boat"};
  AskOptions ask;
  ask.now = kMonday + 30 * kDaySeconds, ask.k = 5;
  for (uint64_t i = 0; i < 240; ++i) {
    const auto utc = kMonday + static_cast<int64_t>(rng.bits(i) % (20 * 86'400));
    Memory& writer = rng.bits(1000 + i) % 3 == 0 ? b : a;
    writer.add({"Ada", fmt::format("the {} and the {} of turn {}", words[i % 5], words[i * i % 5], i), utc, 0});
    if (i % 40 == 19) a.forget({static_cast<int32_t>(i / 2)});
    if (i % 12 != 5) continue;
    Memory fresh(file_, options);
    for (const char* question : {"What about the kiln?", "What did we discuss on May 20?", "What was the third chat?",
                                 "What did Ada say about the boat last week?"}) {
      const std::string right = fresh.ask(question, ask).json(1).dump();
      EXPECT_EQ(a.ask(question, ask).json(1).dump(), right) << i << " " << question;
      EXPECT_EQ(b.ask(question, ask).json(1).dump(), right) << i << " " << question;
    }
    EXPECT_EQ(lines_of(a), lines_of(fresh));
    EXPECT_EQ(lines_of(b), lines_of(fresh));
  }
}

TEST_F(MemoryFile, NotesTellOfTimes) {
  Memory m(file_, {.create = true, .conversation = "x"});
  const auto notes = [&](std::vector<int64_t> times) {
    std::vector<SpokenTurn> turns;
    for (const int64_t t : times) turns.push_back({"Ada", "x", t, 0});
    std::vector<size_t> out;
    for (const AddedTurn& a : add_turns(m, turns, kMonday)) out.push_back(a.notes.size());
    return out;
  };
  EXPECT_EQ(notes({kMonday - 100, kMonday + 60}), (std::vector<size_t>{0, 0}));  // clocks differ by seconds
  EXPECT_EQ(notes({kMonday + kDaySeconds}), std::vector<size_t>{1});
  EXPECT_EQ(notes({kMonday + 70}), std::vector<size_t>{1});
  EXPECT_EQ(notes({kMonday - 7'000, kMonday + 3 * kDaySeconds}), (std::vector<size_t>{1, 1}));
  EXPECT_EQ(chosen_turns(m, {.response = {}, .session = 1, .before = {}}), std::vector<int32_t>{4});
  EXPECT_EQ(chosen_turns(m, {.response = {}, .session = {}, .before = kMonday}), (std::vector<int32_t>{4, 0}));
}

// A topic that the time does not have: a few turns of it, which no score makes better than they are.
TEST_F(MemoryFile, WhatDoesNotMatchIsMarked) {
  Memory m(file_, {.create = true, .conversation = "x"});
  for (int i = 0; i < 30; ++i)
    m.add({"Ada", i < 15 ? "the goose" : "the mill", kMonday + (i < 15 ? 0 : kDaySeconds) + i, 0});
  AskOptions ask;
  ask.now = kMonday + 3 * kDaySeconds, ask.k = 4;
  const FoundTurns found = find_turns(m, "What did Ada say about the goose on Tuesday?", ask);
  EXPECT_TRUE(found.result.unmatched);
  ASSERT_EQ(found.turns.size(), 4u);
  for (const FoundTurn& t : found.turns) EXPECT_TRUE(t.row >= 15 && t.score < 0);
}

TEST_F(MemoryFile, PoolsKeepUsersApart) {
  ConversationPool pool({.file = file_, .zone = "UTC", .max_open = 2});
  pool.open({"ada", "diary"})->add({"Ada", "mine", kMonday, 0});
  pool.open({"", "diary"})->add({"Ben", "everybody's", kMonday, 0});
  EXPECT_EQ(pool.need({"ada", "diary"})->table().size(), 1u);
  EXPECT_FALSE(pool.find({"ben", "diary"}));
  EXPECT_NE(message_of([&] { pool.need({"ben", "diary"}); }).find("ben"), std::string::npos);
  for (int i = 0; i < 6; ++i) pool.open({"", fmt::format("talk {}", i)});  // more than are kept open
  EXPECT_EQ(pool.names().size(), 8u);
  EXPECT_EQ(pool.list()[0].turns, 1);
  const int64_t id = pool.need({"ada", "diary"})->info().id;
  EXPECT_EQ(pool.name_of(id)->user, "ada");
  {  // another program deletes it, and it is made again
    ConversationStore other(file_, {});
    other.forget_conversation(id);
  }
  EXPECT_FALSE(pool.find({"ada", "diary"}));
  EXPECT_EQ(pool.open({"ada", "diary"})->add({"Ada", "again", kMonday, 0}).response, 0);
  EXPECT_EQ(pool.forget({"ada", "diary"}), 1);
  EXPECT_THROW(pool.forget({"ada", "diary"}), Error);
}

TEST_F(MemoryFile, PoolsServeManyThreads) {
  ConversationPool pool({.file = file_, .zone = "UTC", .background = true, .max_open = 3});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&pool, t] {
        for (int i = 0; i < 50; ++i) {
          const auto m = pool.open({"", fmt::format("talk {}", (t + i) % 5)});
          m->add({"Ada", fmt::format("thread {} turn {}", t, i), kMonday + i, 0});
        }
      });
  }
  int64_t turns = 0;
  for (const ConversationInfo& c : pool.list()) turns += c.turns;
  EXPECT_EQ(turns, 200);
}

}  // namespace
}  // namespace quern::memory
