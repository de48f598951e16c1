// Writes lines to a file that appears only when complete. "-" is stdout.
#pragma once
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "apps/quern/cli/standard_output.h"
#include "quern/base/error.h"

namespace quern::cli {

class LineFile {
 public:
  explicit LineFile(const std::string& path)
      : path_(path),
        part_(path == "-" ? "" : fmt::format("{}.part{}", path, getpid())),
        file_(path == "-" ? stdout : std::fopen(part_.c_str(), "wb")) {
    if (!file_) fail("cannot write {}", part_);
  }
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile() {
    if (!file_ || is_stdout()) return;
    std::fclose(file_);
    std::remove(part_.c_str());
  }
  bool is_stdout() const { return part_.empty(); }
  void write(std::string_view line) {
    if (std::fwrite(line.data(), 1, line.size(), file_) == line.size()) return;
    if (is_stdout()) throw OutputError(errno);
    fail("cannot write {}", path_);
  }
  void commit() {  // throws when a byte did not reach the file
    std::FILE* f = std::exchange(file_, nullptr);
    if (is_stdout()) {
      if (std::fflush(f) != 0) throw OutputError(errno);
    } else if (std::fclose(f) != 0 || std::rename(part_.c_str(), path_.c_str()) != 0) {
      std::remove(part_.c_str());
      fail("cannot write {}", path_);
    }
  }

 private:
  std::string path_, part_;
  std::FILE* file_;
};

}  // namespace quern::cli
