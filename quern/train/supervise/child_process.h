// Child process: polled without blocking, terminated with SIGTERM first, then killed. When its parent dies it gets
// SIGTERM, so that no orphan keeps writing into a run.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace quern::train {

class ChildProcess {
 public:
  explicit ChildProcess(const std::vector<std::string>& words);  // stdin is empty; the rest is this process's
  ~ChildProcess();                                               // ends it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  std::optional<int> ended();  // as waitpid says it; nothing: it runs
  void signal(int number);
  int end(double patience_s);  // SIGTERM, and SIGKILL after so long; returns the status
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

// Whether the process runs and is this same program; a dead one whose parent has not asked for it does not run.
bool is_own_kind(pid_t pid);
// SIGKILL to such a process; anything else that has the number by now is left alone.
void kill_own_kind(pid_t pid);

}  // namespace quern::train
