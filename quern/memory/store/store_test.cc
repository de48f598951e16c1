// The store: nothing acknowledged is lost when the process is killed, nothing forgotten stays in the files, and what
// is no turn is refused with a reason.
#include "quern/memory/store/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"

namespace quern::memory {
namespace {

namespace fs = std::filesystem;

class MemoryFolder {
 public:
  MemoryFolder() : path_(fs::temp_directory_path() / fmt::format("quern_memory_{}_{}", getpid(), count_++)) {
    fs::create_directories(path_);
  }
  ~MemoryFolder() { fs::remove_all(path_); }
  fs::path operator/(const char* name) const { return path_ / name; }
  // Every byte of every file in it.
  std::string bytes() const {
    std::string all;
    for (const auto& e : fs::directory_iterator(path_)) all += read_file(e.path());
    return all;
  }

 private:
  static inline int count_ = 0;
  fs::path path_;
};

SpokenTurn turn(int64_t utc, std::string text, std::string speaker = "Ada") {
  return {std::move(speaker), std::move(text), utc, 0};
}

TEST(ConversationStore, GapsBeginSessions) {
  ConversationStore s(":memory:", {.create = true, .durable = false});
  const ConversationInfo c = s.create("x", "UTC", 1200);
  EXPECT_EQ(s.append(c.id, turn(1000, "a")).session, 1);
  EXPECT_EQ(s.append(c.id, turn(2200, "b", "Bo")).session, 1);  // exactly the gap
  const StoredTurn third = s.append(c.id, turn(3401, "c"));
  EXPECT_EQ(third.session, 2);
  EXPECT_EQ(third.response, 2);
  const TurnTable t = s.load(c);
  EXPECT_EQ(t.response, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(t.speaker, (std::vector<int32_t>{0, 1, 0}));
  EXPECT_EQ(s.speakers(c.id), (std::vector<std::string>{"Ada", "Bo"}));
}

TEST(ConversationStore, TextIsKeptVerbatim) {
  ConversationStore s(":memory:", {.create = true, .durable = false});
  const ConversationInfo c = s.create("x'; DROP TABLE turn; --", "UTC", 1200);
  const std::string nasty[] = {"'); DROP TABLE turn; --", std::string("a\0b", 3), " x ", "naïve 日本 🙂",
                               std::string(10 << 20, 'x')};
  int64_t at = 0;
  for (const std::string& text : nasty) {
    const StoredTurn t = s.append(c.id, turn(at += 10, text, "Robert'); DROP TABLE speaker; --"));
    EXPECT_EQ(s.text(t.id), text);
  }
  EXPECT_EQ(s.load(c).size(), std::size(nasty));
  EXPECT_EQ(s.find("x'; DROP TABLE turn; --").id, c.id);
}

TEST(ConversationStore, RefusesWhatIsNoTurn) {
  ConversationStore s(":memory:", {.create = true, .durable = false});
  const ConversationInfo c = s.create("x", "UTC", 1200);
  EXPECT_NE(message_of([&] { s.append(c.id, turn(0, "ab\xffz")); }).find("byte 2"), std::string::npos);
  EXPECT_THROW(s.append(c.id, turn(0, "a", "")), Error);
  EXPECT_THROW(s.append(c.id, turn(0, "a", "\xc0")), Error);
  EXPECT_THROW(s.append(c.id + 1, turn(0, "a")), Error);
  EXPECT_THROW(s.append_all(c.id, {turn(0, "good"), turn(1, "\xff")}), Error);
  EXPECT_EQ(s.load(c).size(), 0u);  // all or nothing
  EXPECT_NE(message_of([&] { s.find("y"); }).find("'y'"), std::string::npos);
  EXPECT_THROW(s.create("x", "UTC", 1200), Error);
  EXPECT_THROW(ConversationStore("/nonexistent/folder/m.db", {.create = true, .durable = false}), Error);
  MemoryFolder d;
  write_file(d / "junk.db", std::string(5000, 'j'));
  EXPECT_THROW(ConversationStore(d / "junk.db", {.create = true, .durable = false}), Error);
}

TEST(ConversationStore, ForgettingLeavesNoBytes) {
  MemoryFolder d;
  const std::string secret = "the combination is 48151623", name = "Zaphodina";
  {
    ConversationStore s(d / "m.db", {.create = true, .durable = false});
    const ConversationInfo c = s.create("x", "UTC", 1200);
    std::vector<int64_t> ids;
    for (int i = 0; i < 500; ++i) {
      const bool hidden = i % 50 == 7;
      const StoredTurn t =
          s.append(c.id, turn(i * 10, hidden ? secret + std::string(i * 20, '.') : fmt::format("turn {}", i),
                              hidden ? name : "Ada"));
      if (hidden) ids.push_back(t.id);
    }
    EXPECT_NE(d.bytes().find(secret), std::string::npos);
    EXPECT_EQ(s.forget(c.id, ids), 10);
    EXPECT_EQ(d.bytes().find(secret), std::string::npos);
    EXPECT_EQ(d.bytes().find(name), std::string::npos);
    EXPECT_EQ(s.load(c).size(), 490u);
    EXPECT_EQ(s.append(c.id, turn(6000, "next")).response, 500);  // numbers are not given twice
    s.check();
    EXPECT_EQ(s.forget_conversation(c.id), 491);
    EXPECT_EQ(d.bytes().find("turn 41"), std::string::npos);
    EXPECT_TRUE(s.conversations().empty());
  }
}

TEST(ConversationStore, TwoWritersShareAFile) {
  MemoryFolder d;
  ConversationStore a(d / "m.db", {.create = true, .durable = false});
  const ConversationInfo c = a.create("x", "UTC", 1200);
  ConversationStore b(d / "m.db", {.create = false, .durable = false});
  const int64_t before = b.data_version();
  EXPECT_EQ(a.append(c.id, turn(0, "one")).response, 0);
  EXPECT_NE(b.data_version(), before);
  EXPECT_EQ(b.append(c.id, turn(1, "two")).response, 1);
  EXPECT_EQ(a.append(c.id, turn(2, "three")).response, 2);
}

// A child appends and tells each number it was given; it is killed at a random moment, a hundred times over one file.
TEST(ConversationStore, KillsLoseNothing) {
  MemoryFolder d;
  const fs::path file = d / "m.db";
  { ConversationStore(file, {.create = true, .durable = false}).create("x", "UTC", 1200); }
  const Rng rng(3);
  int32_t acknowledged = -1;
  int64_t told = 0;
  for (int kill_number = 0; kill_number < 100; ++kill_number) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(pipe_ends[0]);
      try {
        ConversationStore s(file, {.create = false, .durable = false});
        const ConversationInfo c = s.find("x");
        for (;;) {
          const StoredTurn t = s.append(c.id, turn(1'000'000, fmt::format("kept through {} kills", kill_number)));
          if (write(pipe_ends[1], &t.response, sizeof t.response) != sizeof t.response) _exit(1);
        }
      } catch (...) {
        _exit(2);
      }
    }
    close(pipe_ends[1]);
    int32_t r = 0;
    const uint64_t how_many = rng.bits(static_cast<uint64_t>(kill_number)) % 40;
    for (uint64_t k = 0; k <= how_many && read(pipe_ends[0], &r, sizeof r) == sizeof r; ++k) acknowledged = r, ++told;
    usleep(static_cast<useconds_t>(rng.bits(1000 + static_cast<uint64_t>(kill_number)) % 3000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
    while (read(pipe_ends[0], &r, sizeof r) == sizeof r) acknowledged = r, ++told;
    close(pipe_ends[0]);
    ConversationStore s(file, {.create = false, .durable = false});
    const TurnTable t = s.load(s.find("x"));
    ASSERT_GE(static_cast<int32_t>(t.size()), acknowledged + 1);
    ASSERT_LE(static_cast<int32_t>(t.size()), acknowledged + 2);  // one may be written and not yet told
    if (kill_number % 10 == 9) s.check();
    for (size_t i = 0; i < t.size(); ++i) ASSERT_EQ(t.response[i], static_cast<int32_t>(i));
  }
  EXPECT_GT(told, 500);
}

}  // namespace
}  // namespace quern::memory
