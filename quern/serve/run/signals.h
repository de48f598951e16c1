// SIGINT, SIGTERM and SIGHUP as numbers that a thread waits for. Handlers rather than a mask, which programs that the server
// starts would inherit. One at a time in a process.
#pragma once
#include <memory>
#include <optional>

namespace quern::serve {

class Signals {
 public:
  Signals();   // from now on they do not end the process
  ~Signals();  // as it was before
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  std::optional<int> wait(double seconds);  // the next one; nothing: none came

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern::serve
