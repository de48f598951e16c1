#include "tests/cli/shell.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "quern/base/mmap.h"

namespace quern {

ScratchFolder::ScratchFolder() {
  static int count = 0;
  path_ = std::filesystem::temp_directory_path() /
          ("quern_cli_" + std::to_string(::getpid()) + "_" + std::to_string(++count));
  std::filesystem::create_directories(path_);
}
ScratchFolder::~ScratchFolder() { std::filesystem::remove_all(path_); }

namespace {

struct Logs {
  ScratchFolder folder;
  std::string out = folder / "out", err = folder / "err";
};
const Logs& logs() {
  static const Logs l;
  return l;
}

// `commands` with this build's binary first in PATH and the output in files.
std::string script(const std::string& commands) {
  return "export PATH='" QUERN_BINARY_DIR "/apps/quern':\"$PATH\"; exec >'" + logs().out + "' 2>'" + logs().err +
         "'; " + commands;
}

Ran result(int status) {
  Ran r;
  r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  r.out = read_file(logs().out);
  r.err = read_file(logs().err);
  return r;
}

}  // namespace

Ran shell(const std::string& command) { return result(std::system(script(command).c_str())); }

Ran shell_killed_after(double seconds, const std::string& command) {
  using Clock = std::chrono::steady_clock;
  const std::string all = script("exec " + command);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl("/bin/sh", "sh", "-c", all.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (Clock::now() >= end) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return result(status);
}

}  // namespace quern
