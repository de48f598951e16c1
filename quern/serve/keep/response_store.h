// Stored conversations of /v1/responses, which later requests continue with `previous_response_id`. Kept in memory up
// to a maximum count and size; beyond it whoever keeps most loses what it used least recently. With a backend (such as a
// file) they survive restarts. Whoever does not reach a response's owner is told that there is none.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "quern/base/json.h"
#include "quern/serve/http/caller.h"

namespace quern::serve {

struct StoredResponse {
  std::string id, model;
  Json response;           // as returned
  Json input;              // items of its own request
  Json messages;           // the conversation including its answer, without instructions
  std::string owner = {};  // whose it is (Caller::owner)
};

class ResponseBackend {
 public:
  virtual ~ResponseBackend() = default;
  virtual void put(const StoredResponse& r) = 0;
  virtual std::optional<StoredResponse> get(const std::string& id, const Caller& who) = 0;
  virtual bool erase(const std::string& id, const Caller& who) = 0;
};

class ResponseStore {
 public:
  ResponseStore(size_t maximum, size_t max_bytes, std::unique_ptr<ResponseBackend> manager = nullptr)
      : maximum_(maximum), max_bytes_(max_bytes), backend_(std::move(manager)) {}
  std::string put(StoredResponse r);  // empty, or why the backend failed: it is kept in memory anyway
  std::shared_ptr<const StoredResponse> get(const std::string& id, const Caller& who);  // null: unknown or evicted
  std::optional<Json> output_item(const std::string& id, const Caller& who) const;      // of a response in memory
  bool erase(const std::string& id, const Caller& who);

 private:
  struct Entry {
    std::shared_ptr<const StoredResponse> response;
    size_t bytes;
  };
  void drop(std::list<Entry>::iterator it);
  void make_room();
  size_t maximum_, max_bytes_, bytes_ = 0;
  std::unique_ptr<ResponseBackend> backend_;
  mutable std::mutex mutex_;
  std::list<Entry> recent_;  // most recent first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_id_;
  struct Share {
    size_t responses = 0, bytes = 0;
  };
  std::unordered_map<std::string, Share> shares_;  // by owner
};

}  // namespace quern::serve
