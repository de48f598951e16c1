#include "quern/base/mmap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "quern/base/error.h"

namespace quern {

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("cannot open {}: {}", path.string(), std::strerror(errno));
  struct stat st {};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    ::close(fd);
    fail("{} is not a regular file", path.string());
  }
  size_ = static_cast<size_t>(st.st_size);
  if (size_ > 0) {
    void* p = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    int e = errno;
    ::close(fd);
    if (p == MAP_FAILED) fail("cannot map {}: {}", path.string(), std::strerror(e));
    data_ = static_cast<const std::byte*>(p);
  } else {
    ::close(fd);
  }
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

std::string read_file(const std::filesystem::path& path) {
  MappedFile f(path);
  return std::string(reinterpret_cast<const char*>(f.bytes().data()), f.bytes().size());
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::path part = path;
  part += fmt::format(".part{}", ::getpid());
  FILE* f = std::fopen(part.c_str(), "wb");
  if (!f) fail("cannot write {}: {}", path.string(), std::strerror(errno));
  bool ok = std::fwrite(content.data(), 1, content.size(), f) == content.size();
  ok = std::fclose(f) == 0 && ok;
  if (!ok || std::rename(part.c_str(), path.c_str()) != 0) {
    int e = errno;
    std::remove(part.c_str());
    fail("cannot write {}: {}", path.string(), std::strerror(e));
  }
}

}  // namespace quern
