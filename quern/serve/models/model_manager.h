// Loads models on demand and unloads them when idle or when memory is needed, least recently used first. Requests hold
// a reference, so a model in use stays. What does not fit is a 503 that states the memory needed and what holds it.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "quern/serve/models/served_model.h"

namespace quern {

struct ModelEntry {
  std::string id;
  std::function<std::unique_ptr<ServedModel>()> load;
  int64_t bytes = 0;                    // of memory it takes once loaded: weights and cache
  std::string base = {}, adapter = {};  // of one with an adapter: the model it is on, the adapter's folder
};

struct ModelManagerOptions {
  double idle_seconds = 0;   // put away a model nobody has asked for in so long; 0: never
  int64_t memory_bytes = 0;  // of all loaded models; 0: no limit
};

struct ModelCounts {
  int64_t loads = 0, unloads = 0;
  double load_seconds = 0;
};

class ModelManager {
 public:
  ModelManager(std::vector<ModelEntry> entries, ModelManagerOptions options);
  explicit ModelManager(std::vector<std::unique_ptr<ServedModel>> loaded);  // they stay
  ~ModelManager();

  std::vector<std::string> ids() const;
  std::vector<ModelEntry> entries() const;
  bool add(ModelEntry entry);          // false: there is one of that name
  bool remove(const std::string& id);  // whoever holds the model keeps it; false: there is none of that name
  std::shared_ptr<ServedModel> get(const std::string& id);           // an ApiError says why not
  std::shared_ptr<ServedModel> loaded(const std::string& id) const;  // null when it is not
  ModelCounts counts() const;

 private:
  struct Slot {
    ModelEntry entry;
    std::shared_ptr<ServedModel> model = {};
    bool loading = false, removed = false;
    double asked = 0;  // when last
    bool idle() const { return model && model.use_count() == 1; }
  };
  using Unloaded = std::vector<std::shared_ptr<ServedModel>>;  // let go of outside the lock
  std::shared_ptr<Slot> slot(const std::string& id) const;     // null: there is none
  void make_room(const Slot& s, Unloaded& unloaded);
  void watch(const std::stop_token& stop);

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  int64_t unloading_bytes_ = 0;                                          // bytes of models removed while they load
  std::vector<std::pair<std::weak_ptr<ServedModel>, int64_t>> leaving_;  // removed ones somebody holds, their bytes
  std::vector<std::shared_ptr<Slot>> slots_;  // a removed one lives while somebody waits for it
  ModelManagerOptions o_;
  ModelCounts counts_;
  std::jthread watcher_;  // last: it ends before what it looks at
};

}  // namespace quern
