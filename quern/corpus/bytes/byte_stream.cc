#include "quern/corpus/bytes/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "quern/base/error.h"
#include "quern/corpus/bytes/hashing.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

int open_file(const fs::path& file) {
  const int fd = file == "-" ? ::dup(STDIN_FILENO) : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("cannot open {}: {}", file.string(), std::strerror(errno));
  struct stat st {};
  if (::fstat(fd, &st) != 0 || S_ISDIR(st.st_mode)) {
    ::close(fd);
    fail("{} is not a file", file.string());
  }
  return fd;
}

size_t read_some(int fd, const fs::path& file, char* to, size_t n) {
  while (true) {
    const ssize_t got = ::read(fd, to, n);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) fail("cannot read {}: {}", file.string(), std::strerror(errno));
  }
}

class PlainFile : public ByteStream {
 public:
  PlainFile(std::shared_ptr<OpenPipe> pipe, const fs::path& file, FileHash hash)
      : file_(file), pipe_(std::move(pipe)) {
    if (hash == FileHash::compute) hash_.emplace();
  }

  size_t read(char* to, size_t n) override {
    size_t got = std::min(n, pipe_->begun.size() - begun_);
    std::memcpy(to, pipe_->begun.data() + begun_, got);
    begun_ += got;
    if (got == 0) got = read_some(pipe_->descriptor, file_, to, n);
    if (got > 0 && hash_) hash_->add(to, got);
    ended_ = got == 0 && n > 0;
    return got;
  }
  std::optional<uint64_t> hash() const override {
    return hash_ && ended_ ? std::optional(hash_->value()) : std::nullopt;
  }

 private:
  fs::path file_;
  std::shared_ptr<OpenPipe> pipe_;
  size_t begun_ = 0;  // bytes of pipe_->begun that were read
  bool ended_ = false;
  std::optional<RunningHash> hash_;
};

class BytesInMemory : public ByteStream {
 public:
  explicit BytesInMemory(std::string_view bytes) : bytes_(bytes) {}
  size_t read(char* to, size_t n) override {
    n = std::min(n, bytes_.size());
    std::memcpy(to, bytes_.data(), n);
    bytes_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view bytes_;
};

std::unique_ptr<ByteStream> unpack(std::unique_ptr<ByteStream> packed, std::string_view begin, const fs::path& file) {
  const auto is = [&](std::string_view magic) { return begin.starts_with(magic); };
  if (is("\x1F\x8B")) return decompress_gzip(std::move(packed), file);
  if (is("\xFD"
         "7zXZ"))
    return decompress_xz(std::move(packed), file);
  if (is("BZh") && begin.size() >= 10 && (begin.substr(4, 6) == "1AY&SY" || begin.substr(4, 6) == "\x17rE8P\x90"))
    return decompress_bzip2(std::move(packed), file);
  const bool skippable = begin.size() >= 4 && (begin[0] & 0xF0) == 0x50 && begin.substr(1, 3) == "\x2A\x4D\x18";
  if (is("\x28\xB5\x2F\xFD") || skippable) return decompress_zstd(std::move(packed), file);
  return packed;
}

constexpr size_t kMagic = 16;

}  // namespace

OpenPipe::OpenPipe(const fs::path& path, size_t look_ahead) : descriptor(open_file(path)), begun(look_ahead, '\0') {
  size_t have = 0;
  while (have < look_ahead) {
    const size_t got = read_some(descriptor, path, begun.data() + have, look_ahead - have);
    if (got == 0) break;
    have += got;
  }
  begun.resize(have);
}

OpenPipe::~OpenPipe() { ::close(descriptor); }

std::unique_ptr<ByteStream> read_pipe(std::shared_ptr<OpenPipe> pipe, const fs::path& name, FileHash hash) {
  if (std::exchange(pipe->taken, true))
    fail("{} can be read once, and more is asked of it: write it to a file first", name.string());
  const std::string begin = pipe->begun.substr(0, kMagic);
  return unpack(std::make_unique<PlainFile>(std::move(pipe), name, hash), begin, name);
}

std::unique_ptr<ByteStream> bytes_in_memory(std::string_view bytes) { return std::make_unique<BytesInMemory>(bytes); }

std::unique_ptr<ByteStream> open_bytes(const fs::path& file, FileHash hash) {
  auto opened = std::make_shared<OpenPipe>(file, kMagic);
  ::posix_fadvise(opened->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  return read_pipe(std::move(opened), file, hash);
}

bool is_pipe(const fs::path& path) {
  return path == "-" || (fs::exists(path) && !fs::is_regular_file(path) && !fs::is_directory(path));
}

std::string unpacked_beginning(const std::string& begun) {
  std::string out(kMagic << 8, '\0');
  size_t have = 0;
  try {
    const auto stream = unpack(bytes_in_memory(begun), begun, "-");
    while (have < out.size()) {
      const size_t got = stream->read(out.data() + have, out.size() - have);
      if (got == 0) break;
      have += got;
    }
  } catch (const Error&) {  // it goes on behind what was read
  }
  out.resize(have);
  return out;
}

}  // namespace quern::corpus
