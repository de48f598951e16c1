// kill −9 at random moments of saving: this program runs itself as a victim that saves without end, and kills it.
// What is committed must be whole, and the victim must be able to go on from it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "quern/comm/in_process.h"
#include "quern/train/checkpoint_test_state.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using namespace checkpoint_test;

constexpr const char* kVariable = "QUERN_CHECKPOINT_VICTIM";
constexpr int64_t kRows = 20000;  // about 1.4 MB of state: a save takes milliseconds
constexpr int kRanks = 3;

TEST(CheckpointVictim, DISABLED_SavesWithoutEnd) {
  const char* dir = std::getenv(kVariable);
  if (!dir) GTEST_SKIP() << "run by CheckpointKill";
  run_ranks(kRanks, [&](Communicator& c) {
    int64_t step = 0;
    if (const auto last = latest_committed(dir)) {
      const CheckpointReader r(*last);
      r.verify();
      step = r.step();
    }
    c.barrier();
    CheckpointWriter w(c, dir, {.keep = 2, .chunk_bytes = 1 << 16});
    for (;;) {
      ++step;
      w.save(step, pieces_of(c.rank(), kRanks, static_cast<uint64_t>(step), kRows), state_of(step));
    }
  });
}

TEST(CheckpointKill, WhatIsCommittedIsWhole) {
  const Scratch s;
  Rng rng(static_cast<uint64_t>(::getpid()));
  const std::string self = fs::read_symlink("/proc/self/exe");
  ASSERT_EQ(::setenv(kVariable, s.path.c_str(), 1), 0);
  int torn = 0;
  int64_t newest = 0;
  for (int turn = 0; turn < 36; ++turn) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::execl(self.c_str(), self.c_str(), "--gtest_also_run_disabled_tests", "--gtest_brief=1",
              "--gtest_filter=CheckpointVictim.*", static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::usleep(static_cast<useconds_t>(20000 + rng.below(130000)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the victim ended by itself with " << status;
    for (const StepFolder& f : step_folders(s.path)) {
      torn += !f.committed;
      if (!f.committed) continue;
      expect_holds(f.path, static_cast<uint64_t>(f.step), kRows);
      EXPECT_EQ(CheckpointReader(f.path).state(), state_of(f.step));
    }
    if (const auto last = latest_committed(s.path)) {
      const int64_t step = CheckpointReader(*last).step();
      EXPECT_GE(step, newest) << "a committed step was lost";
      newest = step;
    } else {
      EXPECT_EQ(newest, 0) << "a committed step was lost";
    }
    if (HasFatalFailure()) break;
  }
  ::unsetenv(kVariable);
  fmt::print("36 kills: {} unfinished folders found, step {} reached\n", torn, newest);
  EXPECT_GT(torn, 5);
  EXPECT_GT(newest, 5);
}

}  // namespace
}  // namespace quern
