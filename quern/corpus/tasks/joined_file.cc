#include "quern/corpus/tasks/joined_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "quern/base/error.h"
#include "quern/comm/communicator.h"

namespace quern::corpus {

ByteRange joined_range(uint64_t bytes, uint64_t tasks, uint64_t index) {
  const auto pages = static_cast<int64_t>((bytes + kJoinedPage - 1) / kJoinedPage);
  const comm::Range own = comm::even_range(pages, static_cast<int>(tasks), static_cast<int>(index));
  return {std::min(bytes, static_cast<uint64_t>(own.begin) * kJoinedPage),
          std::min(bytes, static_cast<uint64_t>(own.end) * kJoinedPage)};
}

void write_range(const std::filesystem::path& file, const ByteRange& range, const FillBytes& fill) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  const auto refuse = [&] {
    const int e = errno;
    if (fd >= 0) ::close(fd);
    fail("cannot write {}: {}", file.string(), std::strerror(e));
  };
  if (fd < 0) refuse();
  std::string page;
  for (uint64_t at = range.begin; at < range.end; at += page.size()) {
    page.resize(std::min(kJoinedPage, range.end - at));
    try {
      fill(at, page.data(), page.size());
    } catch (...) {
      ::close(fd);
      throw;
    }
    for (size_t done = 0; done < page.size();) {
      const ssize_t some = ::pwrite(fd, page.data() + done, page.size() - done, static_cast<off_t>(at + done));
      if (some < 0 && errno == EINTR) continue;
      if (some < 0) refuse();
      done += static_cast<size_t>(some);
    }
  }
  if (::fsync(fd) != 0) refuse();
  ::close(fd);
}

void JoinedFiles::add(const std::filesystem::path& file) {
  files_.push_back(SpillFile::existing(file));
  starts_.push_back(starts_.back() + files_.back().size());
}

void JoinedFiles::read(uint64_t at, char* to, size_t n) const {
  if (at > size() || n > size() - at) fail("bytes {} to {} of {}", at, at + n, size());
  size_t file = static_cast<size_t>(std::ranges::upper_bound(starts_, at) - starts_.begin()) - 1;
  while (n > 0) {
    const uint64_t begin = at - starts_[file];
    const size_t some = std::min<uint64_t>(n, files_[file].size() - begin);
    files_[file].read(begin, to, some);
    at += some, to += some, n -= some, ++file;
  }
}

}  // namespace quern::corpus
