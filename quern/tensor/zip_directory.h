// The directory of a zip archive: where each entry's bytes lie in the file. Zip64 is read. Every field is checked before use: an entry lies before the directory, carries the name of its local header,
// and overlaps no other.
#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace quern {

struct ZipEntry {
  size_t begin = 0, size = 0;  // as it lies in the file
  bool compressed = false;
};

std::map<std::string, ZipEntry> read_zip_directory(std::span<const std::byte> bytes, const std::string& where);

}  // namespace quern
