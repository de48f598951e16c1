// One lock guards all three: an id moves from the queue to the results without a moment between.
#include "quern/infer/engine/request_queue.h"

#include <algorithm>
#include <utility>

namespace quern::infer {

RequestQueue::Id RequestQueue::push(std::unique_ptr<Sequence> s) {
  std::lock_guard lock(mutex_);
  s->id = next_id_++;
  shares_.begin_waiting(s->r.options.user);
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
  const auto rank = [&](const std::unique_ptr<Sequence>& s) {
    return std::pair(s->r.options.priority, shares_.spent(s->r.options.user));
  };
  const auto next = std::ranges::min_element(waiting_, {}, rank);  // the first of equals: the oldest
  if (next == waiting_.end() || !may_start(**next)) return nullptr;
  auto s = std::move(*next);
  waiting_.erase(next);
  shares_.end_waiting(s->r.options.user);
  return s;
}

void RequestQueue::charge(const std::string& user, int64_t tokens) {
  std::lock_guard lock(mutex_);
  shares_.charge(user, tokens);
}

std::set<RequestQueue::Id> RequestQueue::take_cancelled() {
  std::lock_guard lock(mutex_);
  std::set<Id> now = std::exchange(cancelled_, {});
  std::erase_if(waiting_, [&](std::unique_ptr<Sequence>& s) {
    if (!now.contains(s->id)) return false;
    s->out.finish = "cancelled";
    shares_.end_waiting(s->r.options.user);
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
