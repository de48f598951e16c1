// Functions that any thread hands to the one thread that may run them.
#pragma once
#include <deque>
#include <future>
#include <mutex>
#include <utility>

namespace quern::serve {

class JobQueue {
 public:
  // The future is ready when the job has run, with its exception if it threw one.
  template <class F>
  std::future<void> push(F&& job) {
    std::packaged_task<void()> task(std::forward<F>(job));
    std::future<void> done = task.get_future();
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(task));
    return done;
  }
  bool run_next() {  // false: there is none
    std::packaged_task<void()> job;
    {
      std::lock_guard lock(mutex_);
      if (jobs_.empty()) return false;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
    return true;
  }
  void clear() {  // futures of jobs that have not run throw std::future_error (broken promise)
    std::lock_guard lock(mutex_);
    jobs_.clear();
  }

 private:
  std::mutex mutex_;
  std::deque<std::packaged_task<void()>> jobs_;
};

}  // namespace quern::serve
