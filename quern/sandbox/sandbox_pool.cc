#include "quern/sandbox/sandbox_pool.h"

#include "quern/base/error.h"

namespace quern::sandbox {

SandboxPool::SandboxPool(const Policy& policy, int64_t size)
    : policy_(checked(policy)), size_(static_cast<size_t>(size)) {
  if (size < 1 || size > 256) fail("sandbox pool: size = {}: expected 1 to 256", size);
  for (size_t i = 0; i < size_; ++i) ready_.push_back(std::make_unique<IsolatedProcess>(policy_));
  keeper_ = std::thread([this] { keep_full(); });
}

SandboxPool::~SandboxPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  keeper_.join();
}

size_t SandboxPool::ready() const {
  const std::lock_guard lock(mutex_);
  return ready_.size();
}

std::unique_ptr<IsolatedProcess> SandboxPool::take() {
  const std::lock_guard lock(mutex_);
  failed_ = false;  // the keeper may try again
  if (ready_.empty()) return nullptr;
  auto p = std::move(ready_.front());
  ready_.pop_front();
  return p;
}

Result SandboxPool::run(const Command& command) {
  std::unique_ptr<IsolatedProcess> p = take();
  if (!p) p = std::make_unique<IsolatedProcess>(policy_);
  Result r = p->run(command);
  {
    const std::lock_guard lock(mutex_);
    used_.push_back(std::move(p));
  }
  changed_.notify_all();
  return r;
}

void SandboxPool::keep_full() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    const bool fill = ready_.size() < size_ && !failed_;
    if (!fill && used_.empty()) {
      changed_.wait(lock);
      continue;
    }
    auto used = std::exchange(used_, {});
    lock.unlock();
    std::unique_ptr<IsolatedProcess> fresh;
    try {
      if (fill) fresh = std::make_unique<IsolatedProcess>(policy_);
    } catch (const Error&) {  // the next run finds none ready, tries itself, and tells why
    }
    used.clear();
    lock.lock();
    failed_ = fill && !fresh;
    if (fresh) ready_.push_back(std::move(fresh));
  }
}

}  // namespace quern::sandbox
