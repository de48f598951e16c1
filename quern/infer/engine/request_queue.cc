// One lock guards all three: an id moves from the queue to the results without a moment between.
#include "quern/infer/engine/request_queue.h"

#include <utility>

namespace quern::infer {

RequestQueue::Id RequestQueue::push(std::unique_ptr<Sequence> s) {
  std::lock_guard lock(mutex_);
  s->id = next_id_++;
  waiting_.push_back(std::move(s));
  return next_id_ - 1;
}

void RequestQueue::cancel(Id id) {
  std::lock_guard lock(mutex_);
  if (!done_.contains(id)) cancelled_.insert(id);
}

std::optional<Generated> RequestQueue::take(Id id) {
  std::lock_guard lock(mutex_);
  auto it = done_.find(id);
  if (it == done_.end()) return std::nullopt;
  Generated g = std::move(it->second);
  done_.erase(it);
  return g;
}

std::unique_ptr<Sequence> RequestQueue::pop(const std::function<bool(const Sequence&)>& may_start) {
  std::lock_guard lock(mutex_);
  if (waiting_.empty() || !may_start(*waiting_.front())) return nullptr;
  auto s = std::move(waiting_.front());
  waiting_.pop_front();
  return s;
}

std::set<RequestQueue::Id> RequestQueue::take_cancelled() {
  std::lock_guard lock(mutex_);
  std::set<Id> now = std::exchange(cancelled_, {});
  std::erase_if(waiting_, [&](std::unique_ptr<Sequence>& s) {
    if (!now.contains(s->id)) return false;
    s->out.finish = "cancelled";
    done_.emplace(s->id, std::move(s->out));
    return true;
  });
  return now;
}

void RequestQueue::finish(Id id, Generated result) {
  std::lock_guard lock(mutex_);
  cancelled_.erase(id);
  done_.emplace(id, std::move(result));
}

int64_t RequestQueue::size() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(waiting_.size());
}

}  // namespace quern::infer
