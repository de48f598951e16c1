#include "quern/train/supervise/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>

#include "quern/base/error.h"

namespace quern::train {
namespace {

// In the child, between fork and what it is for: only what is safe there.
void become_child(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  if (const int null = ::open("/dev/null", O_RDONLY); null >= 0) ::dup2(null, STDIN_FILENO);
}

}  // namespace

bool can_be_copied() {
  std::error_code none;
  const std::filesystem::directory_iterator threads("/proc/self/task", none);
  return !none && std::distance(begin(threads), end(threads)) == 1;
}

ChildProcess::ChildProcess(const std::function<int()>& f) {
  QUERN_CHECK(can_be_copied(), "a copy of a process has one of its threads: what the others hold stays held");
  std::fflush(nullptr);  // or both would write what is waiting
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail("cannot start a process: {}", std::strerror(errno));
  if (pid_ > 0) return;
  become_child(parent);
  int status = 1;
  try {
    status = f();
  } catch (const std::exception& e) {  // beyond this there are things of the parent
    fmt::print(stderr, "error: {}\n", e.what());
  } catch (...) {
    fmt::print(stderr, "error: an exception of an unknown type\n");
  }
  if (std::fflush(stdout) != 0 && status == 0) status = 1;
  ::_exit(status);
}

ChildProcess::ChildProcess(const std::vector<std::string>& words) {
  QUERN_CHECK(!words.empty());
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  int tell[2];
  if (::pipe2(tell, O_CLOEXEC) != 0) fail("cannot start {}: {}", words[0], std::strerror(errno));
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    become_child(parent);
    ::execvp(argv[0], argv.data());
    const int e = errno;
    [[maybe_unused]] const ssize_t n = ::write(tell[1], &e, sizeof(e));
    ::_exit(127);
  }
  const int forked = errno;
  ::close(tell[1]);
  int e = 0;
  const bool said = pid_ > 0 && ::read(tell[0], &e, sizeof(e)) == static_cast<ssize_t>(sizeof(e));
  ::close(tell[0]);
  if (pid_ < 0) fail("cannot start {}: {}", words[0], std::strerror(forked));
  if (!said) return;
  ::waitpid(pid_, nullptr, 0);
  fail("cannot start {}: {}", words[0], std::strerror(e));
}

ChildProcess::~ChildProcess() {
  if (!ended()) end(5);
}

std::optional<int> ChildProcess::ended() {
  if (status_) return status_;
  int status = 0;
  const pid_t got = ::waitpid(pid_, &status, WNOHANG);
  if (got == pid_) status_ = status;
  return status_;
}

void ChildProcess::signal(int number) {
  if (!ended()) ::kill(pid_, number);
}

int ChildProcess::end(double patience_s) {
  signal(SIGTERM);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  while (!ended() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  signal(SIGKILL);
  while (!ended()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return *status_;
}

bool is_own_kind(pid_t pid) {
  std::error_code no_mine, no_theirs;
  const auto mine = std::filesystem::read_symlink("/proc/self/exe", no_mine);
  const auto theirs = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), no_theirs);
  return !no_mine && !no_theirs && mine == theirs;
}

void kill_own_kind(pid_t pid) {
  if (pid > 1 && pid != ::getpid() && is_own_kind(pid)) ::kill(pid, SIGKILL);
}

}  // namespace quern::train
