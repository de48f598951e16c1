// Stored responses that survive restarts: a SQLite file in the sessions folder. The most recent ones are kept, up to a
// limit; deleted ones are overwritten in the file.
#pragma once
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "quern/memory/store/sqlite.h"
#include "quern/serve/keep/response_store.h"

namespace quern::serve {

class ResponseFile : public ResponseBackend {
 public:
  ResponseFile(const std::filesystem::path& file, int64_t maximum);
  void put(const StoredResponse& r) override;
  std::optional<StoredResponse> get(const std::string& id, const Caller& who) override;
  bool erase(const std::string& id, const Caller& who) override;

 private:
  std::optional<StoredResponse> find(const std::string& id);  // under the lock
  std::mutex mutex_;
  memory::SqliteFile db_;
  int64_t maximum_;
};

}  // namespace quern::serve
