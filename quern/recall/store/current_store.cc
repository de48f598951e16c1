// Reopening an index that has changed.
#include "quern/recall/store/current_store.h"

#include "quern/base/error.h"

namespace quern::recall {

std::shared_ptr<const RecallStore> CurrentStore::get(std::string& stale) {
  std::lock_guard lock(mutex_);
  try {
    if (store_->changed_on_disk()) store_ = std::make_shared<RecallStore>(store_->reopened());
  } catch (const Error& e) {
    stale = fmt::format("the index has changed and cannot be read, so an earlier state was searched: {}", e.what());
  }
  return store_;
}

void CurrentStore::change(const std::function<void(RecallStore&)>& change) {
  const std::lock_guard one(changes_);
  std::string stale;
  auto fresh = std::make_shared<RecallStore>(*get(stale));
  if (!stale.empty()) fail("{}", stale);
  change(*fresh);
  const std::lock_guard lock(mutex_);
  store_ = std::move(fresh);
}

}  // namespace quern::recall
