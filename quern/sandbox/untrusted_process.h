// The process that becomes the untrusted command: a new session, resource limits, no capability, Landlock, the system
// call filter, a clean environment and no descriptor beyond stdin, stdout and stderr. All walls stand before the command
// is known, so that a sandbox that is ready has only the exec before it.
#pragma once
#include <sys/types.h>

#include "quern/sandbox/sandbox.h"

namespace quern::sandbox {

class UntrustedProcess {
 public:
  // Returns once the walls stand. Throws Error where one could not be put up.
  explicit UntrustedProcess(const Limits& limits);
  // Returns once the program itself runs. Throws CommandError where it cannot be executed.
  void execute(const std::vector<std::string>& argv);
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int words_ = -1, problem_ = -1;  // pipes to and from it
};

}  // namespace quern::sandbox
