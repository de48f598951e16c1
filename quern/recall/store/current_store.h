// A search index that another process may change: readers get it as it is on disk at the moment they ask, and share it.
// For all threads.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "quern/recall/store/store.h"

namespace quern::recall {

class CurrentStore {
 public:
  explicit CurrentStore(const std::string& folder) : store_(std::make_shared<RecallStore>(folder)) {}
  // As it is now; or, when that cannot be read, as it was: then `stale` says why.
  std::shared_ptr<const RecallStore> get(std::string& stale);
  // Lets `change` write to the index as it is now; readers have the new state when it returns. One change at a time; throws
  // Error, and nothing changes, while another process writes.
  void change(const std::function<void(RecallStore&)>& change);

 private:
  std::mutex changes_;
  std::mutex mutex_;  // of the pointer; the index itself is only read
  std::shared_ptr<const RecallStore> store_;
};

}  // namespace quern::recall
