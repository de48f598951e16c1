// Loads one model at a time, outside the lock: other models are served meanwhile.
#include "quern/serve/models/model_manager.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "quern/base/stopwatch.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

ApiError gone(const std::string& id) {
  return ApiError(404, "invalid_request_error", "model_not_found",
                  fmt::format("model '{}' is not served any more", id));
}

}  // namespace

ModelManager::ModelManager(std::vector<ModelEntry> entries, ModelManagerOptions options) : o_(options) {
  QUERN_CHECK(!entries.empty(), "a server without a model");
  for (ModelEntry& e : entries) add(std::move(e));
  if (o_.idle_seconds > 0) watcher_ = std::jthread([this](const std::stop_token& s) { watch(s); });
}

ModelManager::ModelManager(std::vector<std::unique_ptr<ServedModel>> loaded) {
  QUERN_CHECK(!loaded.empty(), "a server without a model");
  for (auto& m : loaded)
    slots_.push_back(std::make_shared<Slot>(Slot{.entry = {.id = m->id, .load = {}}, .model = std::move(m)}));
}

ModelManager::~ModelManager() = default;

std::vector<std::string> ModelManager::ids() const {
  std::vector<std::string> out;
  std::lock_guard lock(mutex_);
  for (const auto& s : slots_) out.push_back(s->entry.id);
  return out;
}

std::vector<ModelEntry> ModelManager::entries() const {
  std::vector<ModelEntry> out;
  std::lock_guard lock(mutex_);
  for (const auto& s : slots_) out.push_back(s->entry);
  return out;
}

bool ModelManager::add(ModelEntry entry) {
  std::lock_guard lock(mutex_);
  if (slot(entry.id)) return false;
  slots_.push_back(std::make_shared<Slot>(Slot{.entry = std::move(entry)}));
  return true;
}

bool ModelManager::remove(const std::string& id) {
  Unloaded unloaded;
  std::lock_guard lock(mutex_);  // given back before the model goes
  const auto s = slot(id);
  if (!s) return false;
  s->removed = true;
  if (s->loading) unloading_bytes_ += s->entry.bytes;
  if (s->model) leaving_.emplace_back(s->model, s->entry.bytes);
  if (s->model) unloaded.push_back(std::exchange(s->model, nullptr)), ++counts_.unloads;
  std::erase(slots_, s);
  return true;
}

std::shared_ptr<ModelManager::Slot> ModelManager::slot(const std::string& id) const {
  auto s = std::find_if(slots_.begin(), slots_.end(), [&](const auto& x) { return x->entry.id == id; });
  return s == slots_.end() ? nullptr : *s;
}

std::shared_ptr<ServedModel> ModelManager::loaded(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto s = slot(id);
  return s ? s->model : nullptr;
}

ModelCounts ModelManager::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

void ModelManager::make_room(const Slot& s, Unloaded& unloaded) {
  if (o_.memory_bytes <= 0) return;
  auto mib = [](int64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; };
  auto refuse = [&](const std::string& why) {
    throw ApiError(503, "server_error", "model_memory",
                   fmt::format("model '{}' needs {} MiB; {}", s.entry.id, mib(s.entry.bytes), why));
  };
  if (s.entry.bytes > o_.memory_bytes)
    refuse(fmt::format("the memory limit of this server for all models is {} MiB", mib(o_.memory_bytes)));
  int64_t used = unloading_bytes_;
  std::erase_if(leaving_, [](const auto& l) { return l.first.expired(); });
  for (const auto& [model, bytes] : leaving_) used += bytes;
  for (const auto& x : slots_)
    if (x->model || x->loading) used += x->entry.bytes;
  const auto idle = [&](const Slot& x) {  // adapters that go hold their base until they are gone
    return x.idle(std::ranges::count_if(unloaded, [&](const auto& gone) { return gone->base == x.model; }));
  };
  while (used + s.entry.bytes > o_.memory_bytes) {
    Slot* oldest = nullptr;
    std::vector<std::string> busy;
    for (const auto& x : slots_) {
      if (idle(*x) && (!oldest || x->asked < oldest->asked)) oldest = x.get();
      if (x->loading || (x->model && !idle(*x))) busy.push_back(x->entry.id);
    }
    if (!oldest)
      refuse(fmt::format("models in use take {} of {} MiB ({}); try again later", mib(used), mib(o_.memory_bytes),
                         fmt::join(busy, ", ")));
    used -= oldest->entry.bytes;
    unloaded.push_back(std::move(oldest->model));
    oldest->model = nullptr, ++counts_.unloads;
  }
}

std::shared_ptr<ServedModel> ModelManager::load(const ModelEntry& entry) {
  if (entry.load_beside) return entry.load_beside(get(entry.base));
  return entry.load();
}

std::shared_ptr<ServedModel> ModelManager::get(const std::string& id) {
  Unloaded unloaded;
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Slot> held = slot(id);
  if (!held) throw gone(id);
  Slot& s = *held;
  s.asked = steady_seconds();
  changed_.wait(lock, [&] { return !s.loading; });
  if (s.removed) throw gone(id);
  if (s.model) return s.model;
  make_room(s, unloaded);
  s.loading = true;
  lock.unlock();
  unloaded.clear();  // before the memory is asked for again
  std::shared_ptr<ServedModel> made;
  std::string why;
  std::exception_ptr refused;  // of the base: not this one's fault
  const double began = steady_seconds();
  try {
    made = load(s.entry);
  } catch (const ApiError&) {
    refused = std::current_exception();
  } catch (const std::exception& e) {
    why = dynamic_cast<const std::bad_alloc*>(&e) ? "out of memory" : e.what();
  }
  lock.lock();
  s.loading = false, s.asked = steady_seconds();
  if (!s.removed) s.model = made;
  if (s.removed) unloading_bytes_ -= s.entry.bytes;
  if (s.removed && made) leaving_.emplace_back(made, s.entry.bytes);
  counts_.loads += made != nullptr, counts_.load_seconds += steady_seconds() - began;
  changed_.notify_all();
  if (refused) std::rethrow_exception(refused);
  if (!made)
    throw ApiError(503, "server_error", "model_load", fmt::format("model '{}' cannot be loaded: {}", id, why));
  return made;
}

std::optional<double> ModelManager::keeps_seconds(const Slot& s) const {
  if (!s.on_demand()) return std::nullopt;
  if (s.keep) return *s.keep < 0 ? std::nullopt : s.keep;
  return o_.idle_seconds > 0 ? std::optional(o_.idle_seconds) : std::nullopt;
}

void ModelManager::keep_alive(const std::string& id, double seconds) {
  std::lock_guard lock(mutex_);
  const auto s = slot(id);
  if (!s || !s->on_demand()) return;
  s->keep = seconds;
  if (!watcher_.joinable()) watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  changed_.notify_all();
}

std::optional<double> ModelManager::idle_seconds_left(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto s = slot(id);
  const auto seconds = s ? keeps_seconds(*s) : std::nullopt;
  if (!seconds) return std::nullopt;
  return std::max(0.0, s->asked + *seconds - steady_seconds());
}

void ModelManager::watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Unloaded unloaded;
    std::unique_lock lock(mutex_);
    double pause = 1;
    for (const auto& s : slots_)
      if (const auto seconds = keeps_seconds(*s)) pause = std::clamp(*seconds / 2, 0.02, pause);
    changed_.wait_for(lock, stop, std::chrono::duration<double>(pause), [] { return false; });
    for (const auto& s : slots_) {
      const auto seconds = keeps_seconds(*s);
      if (!seconds || !s->idle() || steady_seconds() - s->asked <= *seconds) continue;
      unloaded.push_back(std::exchange(s->model, nullptr));
      ++counts_.unloads;
    }
    lock.unlock();
    unloaded.clear();
  }
}

}  // namespace quern::serve
