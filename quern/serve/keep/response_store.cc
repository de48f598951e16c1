#include "quern/serve/keep/response_store.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::serve {

void ResponseStore::drop(std::list<Entry>::iterator it) {
  bytes_ -= it->bytes;
  const auto share = shares_.find(it->response->owner);
  share->second.bytes -= it->bytes;
  if (--share->second.responses == 0) shares_.erase(share);
  by_id_.erase(it->response->id);
  recent_.erase(it);
}

std::string ResponseStore::put(StoredResponse r) {
  std::string trouble;
  try {
    if (backend_) backend_->put(r);
  } catch (const Error& e) {
    trouble = e.what();
  }
  const size_t bytes = r.response.dump().size() + r.messages.dump().size() + r.input.dump().size();
  std::lock_guard lock(mutex_);
  if (auto old = by_id_.find(r.id); old != by_id_.end()) drop(old->second);
  recent_.push_front({std::make_shared<const StoredResponse>(std::move(r)), bytes});
  by_id_[recent_.front().response->id] = recent_.begin();
  bytes_ += bytes;
  Share& share = shares_[recent_.front().response->owner];
  ++share.responses, share.bytes += bytes;
  make_room();
  return trouble;
}

// The newest response stays, however large it is.
void ResponseStore::make_room() {
  while (recent_.size() > 1 && (recent_.size() > maximum_ || bytes_ > max_bytes_)) {
    const bool by_count = recent_.size() > maximum_;
    const auto most = std::ranges::max_element(
        shares_, {}, [&](const auto& s) { return by_count ? s.second.responses : s.second.bytes; });
    auto it = std::prev(recent_.end());
    while (it != recent_.begin() && it->response->owner != most->first) --it;
    drop(it != recent_.begin() ? it : std::prev(recent_.end()));
  }
}

std::shared_ptr<const StoredResponse> ResponseStore::get(const std::string& id, const Caller& who) {
  {
    std::lock_guard lock(mutex_);
    if (auto it = by_id_.find(id); it != by_id_.end()) {
      if (!who.reaches(it->second->response->owner)) return nullptr;
      recent_.splice(recent_.begin(), recent_, it->second);
      return it->second->response;
    }
  }
  if (!backend_) return nullptr;
  auto kept = backend_->get(id, who);
  return kept ? std::make_shared<const StoredResponse>(std::move(*kept)) : nullptr;
}

std::optional<Json> ResponseStore::output_item(const std::string& id, const Caller& who) const {
  std::lock_guard lock(mutex_);
  for (const Entry& e : recent_) {
    if (!who.reaches(e.response->owner)) continue;
    const Json* output = e.response->response.find("output");
    if (!output || !output->is_array()) continue;
    for (const Json& item : output->as_array())
      if (const Json* name = item.find("id"); name && *name == Json(id)) return item;
  }
  return std::nullopt;
}

bool ResponseStore::erase(const std::string& id, const Caller& who) {
  const bool kept = backend_ && backend_->erase(id, who);
  std::lock_guard lock(mutex_);
  auto it = by_id_.find(id);
  if (it == by_id_.end() || !who.reaches(it->second->response->owner)) return kept;
  drop(it->second);
  return true;
}

}  // namespace quern::serve
