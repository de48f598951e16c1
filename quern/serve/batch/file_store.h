// Files of clients, for batches: each one is a file of the folder under an id of the server's own making, with its facts in
// a JSON file next to it. Only the owner of the process may read them. A file that a caller does not reach is for it none. For
// all threads.
#pragma once
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/json.h"
#include "quern/serve/http/caller.h"

namespace quern::serve {

struct StoredFile {
  std::string id, name, purpose;
  int64_t bytes = 0, created = 0;
  std::string owner = {};  // whose it is (Caller::owner)
  Json json() const;       // as OpenAI's API has it
};

// One page of a list whose items have an `id`, as the lists of OpenAI's API are: {object, data, first_id, last_id, has_more}.
struct PageRequest {
  std::string after = {};  // the id before the page; empty: from the beginning
  int64_t limit = 20;
};
Json page_json(const std::vector<Json>& items, const PageRequest& page);

// A folder that is there; one of its own, which goes with it, where the name is empty.
class StateFolder {
 public:
  explicit StateFolder(const std::filesystem::path& folder);
  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool temporary_;
};

// Whole or not at all, for the owner alone; throws ApiError 507 where the disk does not take it.
void write_private(const std::filesystem::path& file, std::string_view content);
std::string read_whole(const std::filesystem::path& file);

class FileStore {
 public:
  explicit FileStore(std::filesystem::path folder);  // made when it is not there
  struct NewFile {
    std::string name, purpose, owner;
  };
  StoredFile add(const NewFile& file, std::string_view content);
  StoredFile get(const std::string& id, const Caller& who) const;       // or a 404
  std::string content(const std::string& id, const Caller& who) const;  // or a 404
  void erase(const std::string& id, const Caller& who);                 // or a 404
  std::vector<StoredFile> list(const Caller& who) const;                // the newest first

 private:
  std::filesystem::path path_of(const std::string& id) const;  // checks the id: it is never a path
  std::filesystem::path folder_;
  mutable std::mutex mutex_;
};

}  // namespace quern::serve
