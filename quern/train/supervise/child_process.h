// Child process: polled without blocking, terminated with SIGTERM first, then killed. When its parent dies it gets
// SIGTERM, so that no orphan keeps writing into a run.
#pragma once
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace quern::train {

class ChildProcess {
 public:
  explicit ChildProcess(const std::vector<std::string>& words);  // stdin is empty; the rest is this process's
  // A copy of this process, which must be able to be copied: runs f and exits with what it returns, or 1 after what it
  // throws. Costs no start of a program, most of which is dynamic linking.
  explicit ChildProcess(const std::function<int()>& f);
  ~ChildProcess();  // ends it
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

// Whether this process has one thread: of several, a copy has the one that asked for it, and a lock that another holds
// stays held in it for ever.
bool can_be_copied();

// Whether the process runs and is this same program; a dead one whose parent has not asked for it does not run.
bool is_own_kind(pid_t pid);
// SIGKILL to such a process; anything else that has the number by now is left alone.
void kill_own_kind(pid_t pid);

}  // namespace quern::train
