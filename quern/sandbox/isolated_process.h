// One sandbox that is ready: namespaces and file system stand, its first process waits for one command. Used once, so
// that no run sees anything of another. Creating it takes milliseconds; SandboxPool keeps some ready.
#pragma once
#include <sys/types.h>

#include <utility>

#include "quern/sandbox/sandbox.h"

namespace quern::sandbox {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

class IsolatedProcess {
 public:
  explicit IsolatedProcess(const Policy& policy);  // of checked(); throws Error where isolation cannot be had
  ~IsolatedProcess();                              // ends every process inside
  IsolatedProcess(const IsolatedProcess&) = delete;
  IsolatedProcess& operator=(const IsolatedProcess&) = delete;

  Result run(const Command& command);  // once
  pid_t pid() const { return pid_; }   // of the first process, as the caller sees it

 private:
  void start();
  void wait_until_ready();
  void end();

  Policy policy_;
  pid_t pid_ = -1;
  Descriptor control_, input_, output_, errors_;
};

}  // namespace quern::sandbox
