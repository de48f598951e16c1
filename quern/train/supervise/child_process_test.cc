// Copies of this process: their status, their standard input, their threads, and their end with what started them.
#include "quern/train/supervise/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "quern/base/threads.h"

namespace quern::train {
namespace {

int wait_for(ChildProcess& child) {
  std::optional<int> status;
  while (!(status = child.ended())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return *status;
}

int exit_status_of(const std::function<int()>& f) {
  ChildProcess child(f);
  const int status = wait_for(child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ChildProcess, RunsAFunctionInACopy) {
  int here = 1;
  EXPECT_EQ(exit_status_of([&] {
              here = 2;
              char byte = 0;
              return ::read(STDIN_FILENO, &byte, 1) == 0 ? 5 + here : 1;  // nothing is to be read
            }),
            7);
  EXPECT_EQ(here, 1);
}

TEST(ChildProcess, ACopyThatThrowsGoesNoFurther) {
  const pid_t parent = ::getpid();
  EXPECT_EQ(exit_status_of([]() -> int { throw std::runtime_error("thrown in a copy"); }), 1);
  EXPECT_EQ(exit_status_of([]() -> int { throw 3; }), 1);
  ASSERT_EQ(::getpid(), parent);
}

TEST(ChildProcess, ACopyCanBeKilled) {
  ChildProcess child([] {
    ::pause();
    return 0;
  });
  EXPECT_FALSE(child.ended());
  child.signal(SIGKILL);
  const int status = wait_for(child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(ChildProcess, ACopyHasThreadsOfItsOwn) {
  const int before = thread_count();
  EXPECT_EQ(exit_status_of([] {
              set_thread_count(3);
              std::atomic<int64_t> sum = 0;
              parallel_dynamic(100, [&](int64_t i) { sum += i; });
              return sum == 4950 ? 0 : 1;
            }),
            0);
  EXPECT_EQ(thread_count(), before);
}

// The end of a pipe that only the copy of the copy has open for writing says when it is gone.
TEST(ChildProcess, ACopyEndsWithWhatStartedIt) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ChildProcess child([&] {
    ChildProcess below([&] {
      [[maybe_unused]] const ssize_t n = ::write(ends[1], "x", 1);
      ::pause();
      return 0;
    });
    ::close(ends[1]);
    ::pause();
    return 0;
  });
  ::close(ends[1]);
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  child.signal(SIGKILL);
  pollfd gone{.fd = ends[0], .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&gone, 1, 20'000), 1);
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);
  ::close(ends[0]);
}

TEST(ChildProcess, OfSeveralThreadsThereIsNoCopy) {
  ASSERT_TRUE(can_be_copied());
  EXPECT_DEATH(
      {
        std::thread([] { ::pause(); }).detach();
        ChildProcess([] { return 0; });
      },
      "one of its threads");
}

}  // namespace
}  // namespace quern::train
