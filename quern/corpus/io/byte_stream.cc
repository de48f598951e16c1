#include "quern/corpus/io/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "quern/base/error.h"
#include "quern/corpus/io/hashing.h"

namespace quern::corpus {
namespace {

class PlainFile : public ByteStream {
 public:
  PlainFile(const std::filesystem::path& file, FileHash hash) : file_(file) {
    if (hash == FileHash::compute) hash_.emplace();
    fd_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail("cannot open {}: {}", file.string(), std::strerror(errno));
    struct stat st {};
    if (::fstat(fd_, &st) != 0 || S_ISDIR(st.st_mode)) {
      ::close(fd_);
      fail("{} is not a file", file.string());
    }
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~PlainFile() override { ::close(fd_); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  size_t read(char* to, size_t n) override {
    while (true) {
      const ssize_t got = ::read(fd_, to, n);
      if (got > 0 && hash_) hash_->add(to, static_cast<size_t>(got));
      ended_ = got == 0 && n > 0;
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) fail("cannot read {}: {}", file_.string(), std::strerror(errno));
    }
  }
  std::optional<uint64_t> hash() const override {
    return hash_ && ended_ ? std::optional(hash_->value()) : std::nullopt;
  }
  size_t peek(unsigned char* to, size_t n) {
    const ssize_t got = ::pread(fd_, to, n, 0);
    return got < 0 ? 0 : static_cast<size_t>(got);
  }

 private:
  std::filesystem::path file_;
  int fd_ = -1;
  bool ended_ = false;
  std::optional<RunningHash> hash_;
};

}  // namespace

std::unique_ptr<ByteStream> open_bytes(const std::filesystem::path& file, FileHash hash) {
  auto plain = std::make_unique<PlainFile>(file, hash);
  unsigned char first[4] = {};
  const size_t n = plain->peek(first, 4);
  if (n >= 2 && first[0] == 0x1F && first[1] == 0x8B) return decompress_gzip(std::move(plain), file);
  const bool frame = n == 4 && first[0] == 0x28 && first[1] == 0xB5 && first[2] == 0x2F && first[3] == 0xFD;
  const bool skippable =
      n == 4 && (first[0] & 0xF0) == 0x50 && first[1] == 0x2A && first[2] == 0x4D && first[3] == 0x18;
  if (frame || skippable) return decompress_zstd(std::move(plain), file);
  return plain;
}

}  // namespace quern::corpus
