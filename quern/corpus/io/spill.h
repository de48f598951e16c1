// A temporary file that is appended to and read anywhere: for what does not fit in memory with 10^7 documents. One
// made in a folder is unlinked once open, so that nothing is left behind, whatever happens to the process; a named one
// stays, and a later process continues it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace quern::corpus {

class SpillFile {
 public:
  SpillFile() = default;
  explicit SpillFile(const std::filesystem::path& folder);
  // FILE with the first `keep` bytes of what lies there; it must hold as many.
  static SpillFile named(const std::filesystem::path& file, uint64_t keep);
  static SpillFile existing(const std::filesystem::path& file);  // to read
  ~SpillFile();
  SpillFile(SpillFile&& o) noexcept;
  SpillFile& operator=(SpillFile&& o) noexcept;
  void append(const void* data, size_t bytes);  // one thread at a time
  void flush();                                 // before reading what was appended
  void grow(uint64_t bytes);                    // zeros at the end, to be written in place
  void read(uint64_t at, void* to, size_t bytes) const;
  void write(uint64_t at, const void* from, size_t bytes);  // in place; any thread
  uint64_t size() const { return size_ + buffer_.size(); }

  template <class T>
  T record(uint64_t i) const {
    T t;
    read(i * sizeof(T), &t, sizeof(T));
    return t;
  }

 private:
  int fd_ = -1;
  uint64_t size_ = 0;
  std::string buffer_;
};

// Renames a folder, once its files and their names have reached the disk.
void commit_folder(const std::filesystem::path& folder, const std::filesystem::path& to);

uint64_t spilled_bytes_read();  // of all such files, by this process

void want_open_files(size_t n);  // raises the process's limit as far as it may

}  // namespace quern::corpus
