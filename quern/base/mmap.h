// A read-only memory-mapped file. Pages are shared with the page cache; the mapping lives as long as the object.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace quern {

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);  // throws Error naming the path
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

std::string read_file(const std::filesystem::path& path);                      // whole file; throws Error
void write_file(const std::filesystem::path& path, std::string_view content);  // via a sibling and rename

}  // namespace quern
