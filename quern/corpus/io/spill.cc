#include "quern/corpus/io/spill.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "quern/base/error.h"

namespace quern::corpus {
namespace {

constexpr size_t kBuffer = size_t{256} << 10;

std::atomic<uint64_t> bytes_read{0};

// Waits until the file, or the names in the folder, are on the disk.
void sync(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool ok = fd >= 0 && ::fsync(fd) == 0;
  const int e = errno;
  if (fd >= 0) ::close(fd);
  if (!ok) fail("cannot sync {} to disk: {}", path.string(), std::strerror(e));
}

void put(int fd, uint64_t at, const char* p, size_t n) {
  while (n > 0) {
    const ssize_t done = ::pwrite(fd, p, n, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("cannot write a temporary file: {}", std::strerror(errno));
    p += done, at += static_cast<uint64_t>(done), n -= static_cast<size_t>(done);
  }
}

}  // namespace

SpillFile::SpillFile(const std::filesystem::path& folder) {
  fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ >= 0) return;
  std::string name = (folder / "spill-XXXXXX").string();  // file systems without unnamed files
  fd_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0) fail("cannot make a temporary file in {}: {}", folder.string(), std::strerror(errno));
  ::unlink(name.c_str());
}

SpillFile SpillFile::named(const std::filesystem::path& file, uint64_t keep) {
  SpillFile f;
  f.fd_ = ::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (f.fd_ < 0) fail("cannot open {}: {}", file.string(), std::strerror(errno));
  struct stat now {};
  if (::fstat(f.fd_, &now) != 0 || static_cast<uint64_t>(now.st_size) < keep)
    fail("{} holds {} bytes, expected at least {}", file.string(), now.st_size, keep);
  // A file cut to nothing is written out as soon as it is closed (ext4), and these are to go before they reach the
  // disk.
  if (static_cast<uint64_t>(now.st_size) > keep && ::ftruncate(f.fd_, static_cast<off_t>(keep)) != 0)
    fail("cannot truncate {}: {}", file.string(), std::strerror(errno));
  f.size_ = keep;
  return f;
}

SpillFile SpillFile::existing(const std::filesystem::path& file) {
  SpillFile f;
  f.fd_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat now {};
  if (f.fd_ < 0 || ::fstat(f.fd_, &now) != 0) fail("cannot open {}: {}", file.string(), std::strerror(errno));
  f.size_ = static_cast<uint64_t>(now.st_size);
  return f;
}

SpillFile::~SpillFile() {
  if (fd_ >= 0) ::close(fd_);
}

SpillFile::SpillFile(SpillFile&& o) noexcept
    : fd_(std::exchange(o.fd_, -1)), size_(std::exchange(o.size_, 0)), buffer_(std::move(o.buffer_)) {}

SpillFile& SpillFile::operator=(SpillFile&& o) noexcept {
  if (this != &o) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(o.fd_, -1), size_ = std::exchange(o.size_, 0), buffer_ = std::move(o.buffer_);
  }
  return *this;
}

void SpillFile::append(const void* data, size_t bytes) {
  if (bytes >= kBuffer) {
    flush();
    put(fd_, size_, static_cast<const char*>(data), bytes);
    size_ += bytes;
    return;
  }
  buffer_.append(static_cast<const char*>(data), bytes);
  if (buffer_.size() >= kBuffer) flush();
}

void SpillFile::flush() {
  put(fd_, size_, buffer_.data(), buffer_.size());
  size_ += buffer_.size();
  buffer_.clear();
}

void SpillFile::grow(uint64_t bytes) {
  flush();
  if (::ftruncate(fd_, static_cast<off_t>(size_ + bytes)) != 0)
    fail("cannot grow a temporary file: {}", std::strerror(errno));
  size_ += bytes;
}

void SpillFile::read(uint64_t at, void* to, size_t bytes) const {
  QUERN_CHECK(at + bytes <= size_, "{} + {} of {}", at, bytes, size_);
  bytes_read.fetch_add(bytes, std::memory_order_relaxed);
  auto* p = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(fd_, p, bytes, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("cannot read a temporary file: {}", std::strerror(errno));
    p += got, at += static_cast<uint64_t>(got), bytes -= static_cast<size_t>(got);
  }
}

void SpillFile::write(uint64_t at, const void* from, size_t bytes) {
  QUERN_CHECK(at + bytes <= size_, "{} + {} of {}", at, bytes, size_);
  put(fd_, at, static_cast<const char*>(from), bytes);
}

void commit_folder(const std::filesystem::path& folder, const std::filesystem::path& to) {
  for (const auto& e : std::filesystem::directory_iterator(folder)) sync(e.path());
  sync(folder);
  std::filesystem::rename(folder, to);
  sync(to.parent_path());
}

uint64_t spilled_bytes_read() { return bytes_read.load(std::memory_order_relaxed); }

void want_open_files(size_t n) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= n) return;
  limit.rlim_cur = std::min<rlim_t>(n, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace quern::corpus
