// Loading one model at a time, outside the lock: others are served meanwhile.
#include "quern/serve/model_shelf.h"

#include <algorithm>
#include <chrono>

#include "quern/serve/api_error.h"

namespace quern {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

ModelShelf::ModelShelf(std::vector<ShelfEntry> entries, ShelfOptions options) : o_(options) {
  QUERN_CHECK(!entries.empty(), "a server without a model");
  for (ShelfEntry& e : entries) slots_.push_back({.entry = std::move(e)});
  if (o_.idle_seconds > 0) watcher_ = std::jthread([this](const std::stop_token& s) { watch(s); });
}

ModelShelf::ModelShelf(std::vector<std::unique_ptr<ServedModel>> loaded) {
  QUERN_CHECK(!loaded.empty(), "a server without a model");
  for (auto& m : loaded) slots_.push_back({.entry = {.id = m->id, .load = {}}, .model = std::move(m)});
}

ModelShelf::~ModelShelf() = default;

std::vector<std::string> ModelShelf::ids() const {
  std::vector<std::string> out;
  for (const Slot& s : slots_) out.push_back(s.entry.id);
  return out;
}

ModelShelf::Slot& ModelShelf::slot(const std::string& id) {
  auto s = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& x) { return x.entry.id == id; });
  QUERN_CHECK(s != slots_.end(), "no model {}", id);
  return *s;
}

std::shared_ptr<ServedModel> ModelShelf::loaded(const std::string& id) const {
  std::lock_guard lock(mutex_);
  for (const Slot& s : slots_)
    if (s.entry.id == id) return s.model;
  return nullptr;
}

ShelfCounts ModelShelf::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

void ModelShelf::make_room(const Slot& s, Away& away) {
  if (o_.memory_bytes <= 0) return;
  auto mib = [](int64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; };
  auto refuse = [&](const std::string& why) {
    throw ApiError(503, "server_error", "model_memory",
                   fmt::format("model '{}' needs {} MiB; {}", s.entry.id, mib(s.entry.bytes), why));
  };
  if (s.entry.bytes > o_.memory_bytes)
    refuse(fmt::format("this server gives {} MiB to all models (--memory-mib)", mib(o_.memory_bytes)));
  int64_t used = 0;
  for (const Slot& x : slots_)
    if (x.model || x.loading) used += x.entry.bytes;
  while (used + s.entry.bytes > o_.memory_bytes) {
    Slot* oldest = nullptr;
    std::vector<std::string> busy;
    for (Slot& x : slots_) {
      if (x.idle() && (!oldest || x.asked < oldest->asked)) oldest = &x;
      if (x.loading || (x.model && !x.idle())) busy.push_back(x.entry.id);
    }
    if (!oldest)
      refuse(fmt::format("{} of {} MiB are taken by models at work ({}); try again", mib(used), mib(o_.memory_bytes),
                         fmt::join(busy, ", ")));
    used -= oldest->entry.bytes;
    away.push_back(std::move(oldest->model));
    oldest->model = nullptr, ++counts_.unloads;
  }
}

std::shared_ptr<ServedModel> ModelShelf::get(const std::string& id) {
  Away away;
  std::unique_lock lock(mutex_);
  Slot& s = slot(id);
  s.asked = now();
  changed_.wait(lock, [&] { return !s.loading; });
  if (s.model) return s.model;
  make_room(s, away);
  s.loading = true;
  lock.unlock();
  away.clear();  // before the memory is asked for again
  std::shared_ptr<ServedModel> made;
  std::string why;
  const double began = now();
  try {
    made = s.entry.load();
  } catch (const std::exception& e) {
    why = dynamic_cast<const std::bad_alloc*>(&e) ? "out of memory" : e.what();
  }
  lock.lock();
  s.loading = false, s.model = made, s.asked = now();
  counts_.loads += made != nullptr, counts_.load_seconds += now() - began;
  changed_.notify_all();
  if (!made)
    throw ApiError(503, "server_error", "model_load", fmt::format("model '{}' cannot be loaded: {}", id, why));
  return made;
}

void ModelShelf::watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Away away;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, std::chrono::duration<double>(std::min(1.0, o_.idle_seconds / 2)),
                      [] { return false; });
    for (Slot& s : slots_)
      if (s.idle() && s.entry.load && now() - s.asked > o_.idle_seconds) {
        away.push_back(std::move(s.model));
        s.model = nullptr, ++counts_.unloads;
      }
    lock.unlock();
    away.clear();
  }
}

}  // namespace quern
