#include "quern/memory/service/conversation_pool.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::memory {

ConversationPool::ConversationPool(PoolOptions options)
    : options_(std::move(options)), catalog_(options_.file, {.create = true}) {
  Zone::load(options_.zone);
}

std::shared_ptr<ConversationPool::Talk> ConversationPool::talk(const ConversationName& name) {
  std::shared_ptr<Talk> closed;  // ends outside the lock: its index may be in the making
  std::lock_guard lock(mutex_);
  auto at = talks_.find(name);
  if (at == talks_.end()) {
    if (talks_.size() >= options_.max_open) {
      const auto oldest = std::min_element(
          talks_.begin(), talks_.end(), [](const auto& a, const auto& b) { return a.second->used < b.second->used; });
      closed = std::move(oldest->second);
      talks_.erase(oldest);
    }
    at = talks_.emplace(name, std::make_shared<Talk>()).first;
  }
  at->second->used = ++uses_;
  return at->second;
}

ConversationPool::Held ConversationPool::hold(const ConversationInfo& info) {
  Held held;
  held.talk_ = talk({info.user, info.name});
  held.lock_ = std::unique_lock(held.talk_->mutex);
  std::unique_ptr<Memory>& memory = held.talk_->memory;
  if (memory && memory->info().id != info.id) memory.reset();  // deleted meanwhile, and made again
  if (!memory)
    memory = std::make_unique<Memory>(options_.file, MemoryOptions{.durable = options_.durable,
                                                                   .conversation = info.name,
                                                                   .user = info.user,
                                                                   .background = options_.background});
  return held;
}

ConversationPool::Held ConversationPool::open(const ConversationName& name, const std::string& zone) {
  const auto info = [&] {
    std::lock_guard lock(mutex_);
    if (auto there = catalog_.look_up(name.name, name.user)) return *there;
    const std::string& of = zone.empty() ? options_.zone : zone;
    Zone::load(of);  // refuses what is no zone
    return catalog_.create(name.name, of, kUsualGap, name.user);
  }();
  return hold(info);
}

std::optional<ConversationPool::Held> ConversationPool::find(const ConversationName& name) {
  const auto info = [&] {
    std::lock_guard lock(mutex_);
    return catalog_.look_up(name.name, name.user);
  }();
  if (!info) return std::nullopt;
  return hold(*info);
}

ConversationPool::Held ConversationPool::need(const ConversationName& name) {
  const auto info = [&] {
    std::lock_guard lock(mutex_);
    return catalog_.find(name.name, name.user);
  }();
  return hold(info);
}

std::optional<ConversationName> ConversationPool::name_of(int64_t id) {
  std::lock_guard lock(mutex_);
  const auto info = catalog_.look_up(id);
  if (!info) return std::nullopt;
  return ConversationName{info->user, info->name};
}

std::vector<ConversationInfo> ConversationPool::list() {
  std::lock_guard lock(mutex_);
  return catalog_.conversations();
}

std::vector<ConversationInfo> ConversationPool::names() {
  std::lock_guard lock(mutex_);
  return catalog_.names();
}

int64_t ConversationPool::forget(const ConversationName& name) {
  const Held held = need(name);
  const int64_t gone = held->forget_all();
  held.talk_->memory.reset();
  std::lock_guard lock(mutex_);
  const auto at = talks_.find(name);
  if (at != talks_.end() && at->second == held.talk_) talks_.erase(at);
  return gone;
}

}  // namespace quern::memory
