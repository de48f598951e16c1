// The folder of a prefix cache on disk: one folder below it for each way of computing states, named by a hash of everything
// their bits depend on (model, formats, instructions, code). States of another identity are never read: they are counted,
// reported, and the first to go when room is needed. One process at a time uses a folder: it holds a lock.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/file_lock.h"

namespace quern::infer {

using CacheIdentity = std::vector<std::pair<std::string, std::string>>;  // {"kv", "bf16"}, …

class CacheFolder {
 public:
  // Throws Error where it cannot be made.
  CacheFolder(std::filesystem::path all, const CacheIdentity& identity,
              std::chrono::milliseconds patience = kLockPatience);
  ~CacheFolder();
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  bool locked() const { return lock_ >= 0; }  // false: another process uses it
  const std::filesystem::path& path() const { return own_; }

  // Folders of other identities that no process uses.
  struct Other {
    std::filesystem::path path;
    int64_t bytes = 0;
    std::filesystem::file_time_type used = {};
    std::string difference;  // from this identity, in words
  };
  const std::vector<Other>& others() const { return others_; }  // the oldest first
  int64_t other_bytes() const;
  bool drop_oldest_other();  // false: there is none

 private:
  void look_for_others(const CacheIdentity& identity);

  std::filesystem::path all_, own_;
  int lock_ = -1;
  std::vector<Other> others_;
};

}  // namespace quern::infer
