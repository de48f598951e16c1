// Sandboxes that are ready before they are asked for: a run then costs a fork and an exec, not the namespaces and mounts.
// Each is used for one command. A thread creates the next ones and takes the used ones down. Create the pool before
// large data is loaded: a new sandbox begins as a fork of this process.
#pragma once
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "quern/sandbox/isolated_process.h"

namespace quern::sandbox {

class SandboxPool {
 public:
  SandboxPool(const Policy& policy, int64_t size);  // throws Error where isolation cannot be had
  ~SandboxPool();
  SandboxPool(const SandboxPool&) = delete;
  SandboxPool& operator=(const SandboxPool&) = delete;

  Result run(const Command& command);  // from any thread; creates a sandbox where none is ready
  size_t ready() const;

 private:
  void keep_full();
  std::unique_ptr<IsolatedProcess> take();

  Policy policy_;
  size_t size_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<IsolatedProcess>> ready_;
  std::vector<std::unique_ptr<IsolatedProcess>> used_;
  bool closing_ = false, failed_ = false;
  std::thread keeper_;
};

}  // namespace quern::sandbox
