// Stored conversations of /v1/responses, which later requests continue with `previous_response_id`. Kept in memory up
// to a maximum count and size, least recently used evicted first; with a backend (such as a file) they survive
// restarts.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "quern/base/json.h"

namespace quern {

struct StoredResponse {
  std::string id, model;
  Json response;  // as it was answered
  Json input;     // the items of its request alone
  Json messages;  // the whole conversation up to and with its answer, without instructions
};

class ResponseShelf {
 public:
  virtual ~ResponseShelf() = default;
  virtual void put(const StoredResponse& r) = 0;
  virtual std::optional<StoredResponse> get(const std::string& id) = 0;
  virtual bool erase(const std::string& id) = 0;
};

class ResponseStore {
 public:
  ResponseStore(size_t most, size_t most_bytes, std::unique_ptr<ResponseShelf> shelf = nullptr)
      : most_(most), most_bytes_(most_bytes), shelf_(std::move(shelf)) {}
  std::string put(StoredResponse r);  // empty, or why it could not go on the shelf: it is in memory all the same
  std::shared_ptr<const StoredResponse> get(const std::string& id);  // null: not here, or no longer
  bool erase(const std::string& id);

 private:
  struct Entry {
    std::shared_ptr<const StoredResponse> response;
    size_t bytes;
  };
  void drop(std::list<Entry>::iterator it);
  size_t most_, most_bytes_, bytes_ = 0;
  std::unique_ptr<ResponseShelf> shelf_;
  std::mutex mutex_;
  std::list<Entry> recent_;  // the latest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_id_;
};

}  // namespace quern
