// One file that all tasks of a stage write, each a range of its bytes. Ranges end at multiples of 1 MiB: where several
// machines write one file of a network file system, each sends whole pages of what it has, and no two may have a page in
// common. A task that is killed and begins anew writes the same bytes to the same place.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "quern/corpus/io/spill.h"

namespace quern::corpus {

struct ByteRange {
  uint64_t begin = 0, end = 0;
};
constexpr uint64_t kJoinedPage = uint64_t{1} << 20;
ByteRange joined_range(uint64_t bytes, uint64_t tasks, uint64_t index);

// fill(at, to, n): the file's bytes from there, asked for in ascending order; at most a page at a time. On disk when it
// returns.
using FillBytes = std::function<void(uint64_t at, char* to, size_t n)>;
void write_range(const std::filesystem::path& file, const ByteRange& range, const FillBytes& fill);

// Files behind one another, read as one.
class JoinedFiles {
 public:
  void add(const std::filesystem::path& file);
  uint64_t size() const { return starts_.back(); }
  void read(uint64_t at, char* to, size_t n) const;

 private:
  std::vector<SpillFile> files_;
  std::vector<uint64_t> starts_ = {0};
};

}  // namespace quern::corpus
