// Requests on their way between the threads that submit them and the thread that steps the engine: the queue, ordered by
// priority, fair shares of users and arrival, the ids to be cancelled, and results until they are taken. May be used from
// any thread.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "quern/infer/engine/fair_share.h"
#include "quern/infer/engine/sequence.h"

namespace quern::infer {

class RequestQueue {
 public:
  using Id = int64_t;

  Id push(std::unique_ptr<Sequence> s);  // gives it its id, 1, 2, …
  void cancel(Id id);
  std::optional<Generated> take(Id id);  // its result, once; nothing before it is done

  // The next sequence, if it may start now; else null: others do not overtake it. Next is, of those with the lowest
  // priority value, the oldest one of the user that has had the fewest tokens.
  std::unique_ptr<Sequence> pop(const std::function<bool(const Sequence&)>& may_start);
  // The ids that were cancelled since the last call. Those still in the queue end here.
  std::set<Id> take_cancelled();
  void finish(Id id, Generated result);
  int64_t size() const;
  void charge(const std::string& user, int64_t tokens);  // against the user's share

 private:
  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Sequence>> waiting_;  // in order of arrival
  FairShare shares_;
  std::set<Id> cancelled_;
  std::map<Id, Generated> done_;
  Id next_id_ = 1;
};

}  // namespace quern::infer
