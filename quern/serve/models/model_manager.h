// Loads models on demand and unloads them when idle or when memory is needed, least recently used first. Requests hold
// a reference, so a model in use stays. What does not fit is a 503 that states the memory needed and what holds it.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "quern/serve/models/served_model.h"

namespace quern::serve {

struct ModelEntry {
  std::string id;
  std::function<std::unique_ptr<ServedModel>()> load;
  int64_t bytes = 0;                    // memory once loaded: weights and cache; of an adapter, its own
  std::string base = {}, adapter = {};  // with an adapter: the base model and the adapter's folder
  // Instead of load: on the loaded base, whose weights and engine it shares.
  std::function<std::shared_ptr<ServedModel>(const std::shared_ptr<ServedModel>& base)> load_beside = {};
};

struct ModelManagerOptions {
  double idle_seconds = 0;   // unload a model after this time without a request; 0: never
  int64_t memory_bytes = 0;  // limit for all loaded models; 0: none
};

struct ModelCounts {
  int64_t loads = 0, unloads = 0;
  double load_seconds = 0;
};

class ModelManager {
 public:
  ModelManager(std::vector<ModelEntry> entries, ModelManagerOptions options);
  explicit ModelManager(std::vector<std::unique_ptr<ServedModel>> loaded);  // never unloaded
  ~ModelManager();

  std::vector<std::string> ids() const;
  std::vector<ModelEntry> entries() const;
  bool add(ModelEntry entry);          // false: the name is taken
  bool remove(const std::string& id);  // requests that hold the model keep it; false: unknown name
  std::shared_ptr<ServedModel> get(const std::string& id);           // throws ApiError if it cannot be loaded
  std::shared_ptr<ServedModel> loaded(const std::string& id) const;  // null if it is not loaded
  ModelCounts counts() const;
  // How long the model stays without a request, instead of the server's own time: 0 unloads it as soon as nobody uses it,
  // below 0 keeps it. Those that were given loaded stay.
  void keep_alive(const std::string& id, double seconds);
  std::optional<double> idle_seconds_left(const std::string& id) const;  // until it is unloaded; nothing: it stays

 private:
  struct Slot {
    ModelEntry entry;
    std::shared_ptr<ServedModel> model = {};
    bool loading = false, removed = false;
    double asked = 0;                 // time of the last request
    std::optional<double> keep = {};  // seconds, of keep_alive(); below 0: without end
    bool idle(int64_t leaving_holders = 0) const { return model && model.use_count() == 1 + leaving_holders; }
    bool on_demand() const { return entry.load || entry.load_beside; }
  };
  using Unloaded = std::vector<std::shared_ptr<ServedModel>>;  // released outside the lock
  std::shared_ptr<ServedModel> load(const ModelEntry& entry);  // outside the lock; throws
  std::shared_ptr<Slot> slot(const std::string& id) const;     // null: unknown name
  void make_room(const Slot& s, Unloaded& unloaded);
  void watch(const std::stop_token& stop);
  std::optional<double> keeps_seconds(const Slot& s) const;  // without a request; nothing: without end

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  int64_t unloading_bytes_ = 0;  // bytes of models removed while loading
  std::vector<std::pair<std::weak_ptr<ServedModel>, int64_t>>
      leaving_;                               // removed models that requests still hold, their bytes
  std::vector<std::shared_ptr<Slot>> slots_;  // a removed one lives while a request waits for it
  ModelManagerOptions o_;
  ModelCounts counts_;
  std::jthread watcher_;  // last member: stops before the others are destroyed
};

}  // namespace quern::serve
