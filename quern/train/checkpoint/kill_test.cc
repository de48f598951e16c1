// kill −9 at random moments of saving: this program runs itself as a victim that saves without end, on threads or as
// MPI processes, and kills it (or one of its ranks). What is committed must be whole, and the victim must be able to
// go on from it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "quern/base/mmap.h"
#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"
#include "quern/train/checkpoint/test_state.h"

namespace quern::train {
namespace {

namespace fs = std::filesystem;
using namespace checkpoint_test;

constexpr const char* kVariable = "QUERN_CHECKPOINT_VICTIM";
constexpr int64_t kRows = 20000;  // about 1.4 MB of state: a save takes milliseconds
constexpr int kRanks = 3;

void save_without_end(comm::Communicator& c, const fs::path& dir) {
  write_file(dir / fmt::format("pid_{}", c.rank()), std::to_string(::getpid()));
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
}

TEST(CheckpointVictim, DISABLED_OnThreads) {
  const char* dir = std::getenv(kVariable);
  if (!dir) GTEST_SKIP() << "run by CheckpointKill";
  comm::run_ranks(kRanks, [&](comm::Communicator& c) { save_without_end(c, dir); });
}

TEST(CheckpointVictim, DISABLED_UnderMpi) {
  const char* dir = std::getenv(kVariable);
  if (!dir || !comm::under_mpi()) GTEST_SKIP() << "run by CheckpointKill";
  comm::run_mpi([&](comm::Communicator& c) { save_without_end(c, dir); });
}

class CheckpointKill : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::setenv(kVariable, scratch_.path.c_str(), 1), 0); }
  void TearDown() override { ::unsetenv(kVariable); }

  static pid_t start(const std::string& command) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    QUERN_CHECK(child > 0);
    return child;
  }
  static std::string victim(const char* test) {
    return fmt::format(
        "'{}' --gtest_also_run_disabled_tests --gtest_brief=1 --gtest_filter=CheckpointVictim.DISABLED_{}",
        fs::read_symlink("/proc/self/exe").string(), test);
  }

  fs::path pid_file(int r) const { return scratch_.path / fmt::format("pid_{}", r); }

  void look() {
    for (const StepFolder& f : step_folders(scratch_.path)) {
      torn_ += !f.committed;
      if (!f.committed) continue;
      expect_holds(f.path, static_cast<uint64_t>(f.step), kRows);
      EXPECT_EQ(CheckpointReader(f.path).state(), state_of(f.step));
    }
    const auto last = latest_committed(scratch_.path);
    const int64_t step = last ? CheckpointReader(*last).step() : 0;
    EXPECT_GE(step, newest_) << "a committed step was lost";
    newest_ = step;
  }

  Scratch scratch_;
  Rng rng_{static_cast<uint64_t>(::getpid())};
  int torn_ = 0;
  int64_t newest_ = 0;
};

TEST_F(CheckpointKill, WhatIsCommittedIsWhole) {
  for (int turn = 0; turn < 36 && !HasFailure(); ++turn) {
    fs::remove(pid_file(0));
    const pid_t child = start(victim("OnThreads"));
    int status = 0;
    while (!fs::exists(pid_file(0))) {
      ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << "the victim ended with " << status;
      ::usleep(500);
    }
    ::usleep(static_cast<useconds_t>(rng_.below(130000)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the victim ended by itself with " << status;
    look();
  }
  fmt::print("36 kills: {} unfinished folders found, step {} reached\n", torn_, newest_);
  EXPECT_GT(torn_, 5);
  EXPECT_GT(newest_, 0);
}

TEST_F(CheckpointKill, OneMpiRankOfThree) {
  if (!comm::mpi_built() || std::system("command -v mpirun >/dev/null 2>&1") != 0) GTEST_SKIP() << "no MPI here";
  for (int turn = 0; turn < 3 && !HasFailure(); ++turn) {
    for (int r = 0; r < kRanks; ++r) fs::remove(pid_file(r));
    const pid_t child = start(
        "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "mpirun --oversubscribe -n 3 " +
        victim("UnderMpi") + " >/dev/null 2>&1");
    int status = 0;
    for (int r = 0; r < kRanks; ++r)
      while (!fs::exists(pid_file(r))) {
        ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << "mpirun ended with " << status;
        ::usleep(1000);
      }
    ::usleep(static_cast<useconds_t>(rng_.below(300000)));
    const int chosen = static_cast<int>(rng_.below(kRanks));
    ASSERT_EQ(::kill(static_cast<pid_t>(std::stoi(read_file(pid_file(chosen)))), SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, &status, 0), child);  // mpirun ends the others
    EXPECT_NE(status, 0);
    look();
  }
  fmt::print("3 kills of an MPI rank: {} unfinished folders found, step {} reached\n", torn_, newest_);
  EXPECT_GT(newest_, 0);
}

}  // namespace
}  // namespace quern::train
