// A folder's identity is kept beside its files, in lines of "name: value".
#include "quern/infer/cache/cache_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/models/fingerprint.h"

namespace quern::infer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIdentity = "identity.txt";

std::string text_of(const CacheIdentity& identity) {
  std::string text;
  for (const auto& [name, value] : identity) text += fmt::format("{}: {}\n", name, value);
  return text;
}

int lock_folder(const fs::path& folder, std::chrono::milliseconds patience) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -1;
  if (lock_exclusively(fd, patience)) return fd;
  ::close(fd);
  return -1;
}

// The first thing in which they differ.
std::string difference(const CacheIdentity& mine, const std::string& theirs) {
  std::istringstream lines(theirs);
  for (const auto& [name, value] : mine) {
    std::string line;
    std::getline(lines, line);
    if (line == fmt::format("{}: {}", name, value)) continue;
    if (line.starts_with(name + ": "))
      return fmt::format("{} {} there, {} here", name, line.substr(name.size() + 2), value);
    break;
  }
  return "written by another version";
}

}  // namespace

CacheFolder::CacheFolder(fs::path all, const CacheIdentity& identity, std::chrono::milliseconds patience)
    : all_(std::move(all)) {
  const std::string text = text_of(identity);
  own_ = all_ / fmt::format("{:016x}", models::content_hash(std::as_bytes(std::span(text))));
  std::error_code error;
  if (fs::create_directories(all_, error)) fs::permissions(all_, fs::perms::owner_all, error);
  if (!fs::is_directory(all_)) fail("{}: expected a folder for the prefix cache: {}", all_.string(), error.message());
  fs::create_directory(own_, error);
  fs::permissions(own_, fs::perms::owner_all, error);  // it holds what people wrote
  if (!fs::is_directory(own_) || ::access(own_.c_str(), W_OK | X_OK) != 0)
    fail("{}: cannot write there: {}", all_.string(), error ? error.message() : std::strerror(errno));
  lock_ = lock_folder(own_, patience);
  if (lock_ < 0) return;
  write_file(own_ / kIdentity, text);
  look_for_others(identity);
}

CacheFolder::~CacheFolder() {
  if (lock_ >= 0) ::close(lock_);
}

void CacheFolder::look_for_others(const CacheIdentity& identity) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(all_, error)) {
    if (entry.path() == own_ || !fs::is_regular_file(entry.path() / kIdentity, error)) continue;
    const int lock = lock_folder(entry.path(), std::chrono::milliseconds(0));
    if (lock < 0) continue;
    ::close(lock);
    Other o{.path = entry.path(),
            .used = fs::last_write_time(entry.path(), error),
            .difference = difference(identity, read_file(entry.path() / kIdentity))};
    for (const auto& f : fs::directory_iterator(entry.path(), error)) {
      const auto bytes = f.file_size(error);
      if (!error) o.bytes += static_cast<int64_t>(bytes);
    }
    others_.push_back(std::move(o));
  }
  std::ranges::sort(others_, {}, &Other::used);
}

int64_t CacheFolder::other_bytes() const {
  int64_t bytes = 0;
  for (const Other& o : others_) bytes += o.bytes;
  return bytes;
}

bool CacheFolder::drop_oldest_other() {
  if (others_.empty()) return false;
  const int lock = lock_folder(others_.front().path, std::chrono::milliseconds(0));
  std::error_code error;
  if (lock >= 0) {  // nobody began to use it meanwhile
    fs::remove_all(others_.front().path, error);
    ::close(lock);
  }
  others_.erase(others_.begin());
  return true;
}

}  // namespace quern::infer
