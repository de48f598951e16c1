// Files whose changes are noticed by their time, size and identity, looked at now and then.
#pragma once
#include <sys/stat.h>

#include <filesystem>
#include <tuple>
#include <utility>
#include <vector>

namespace quern::serve {

class WatchedFiles {
 public:
  explicit WatchedFiles(std::vector<std::filesystem::path> files) : files_(std::move(files)), seen_(look()) {}
  bool changed() {  // since the last call, or the beginning
    auto now = look();
    const bool other = now != seen_;
    seen_ = std::move(now);
    return other;
  }

 private:
  using Sight = std::tuple<dev_t, ino_t, off_t, time_t, long>;  // zeros: there is no such file
  std::vector<Sight> look() const {
    std::vector<Sight> out;
    for (const std::filesystem::path& f : files_) {
      struct stat s {};
      if (::stat(f.c_str(), &s) != 0) s = {};
      out.emplace_back(s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
    }
    return out;
  }

  std::vector<std::filesystem::path> files_;
  std::vector<Sight> seen_;
};

}  // namespace quern::serve
