#include "quern/tensor/zip_directory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "quern/base/error.h"
#include "quern/tensor/pickle.h"

namespace quern {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50, kSaturated = 0xffffffff;
constexpr size_t kEndBytes = 22, kMaxComment = 65535, kCentralBytes = 46, kLocalBytes = 30, kLocatorBytes = 20,
                 kEnd64Bytes = 56;

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  std::map<std::string, ZipEntry> read() {
    find_directory();
    std::map<std::string, ZipEntry> entries;
    std::vector<std::pair<size_t, size_t>> spans;
    uint64_t at = begin_;
    for (uint64_t i = 0; i < count_; ++i) {
      if (end_ - at < kCentralBytes || number<uint32_t>(at) != kCentral)
        fail("{}: entry {} of the zip directory is damaged", where_, i);
      const uint64_t name_size = number<uint16_t>(at + 28), extra_size = number<uint16_t>(at + 30);
      const uint64_t size = kCentralBytes + name_size + extra_size + number<uint16_t>(at + 32);
      if (end_ - at < size) fail("{}: entry {} of the zip directory is truncated", where_, i);
      const std::string name(text(at + kCentralBytes, name_size));
      const auto [local, entry] = located(at, name, {at + kCentralBytes + name_size, extra_size});
      if (!entries.emplace(name, entry).second) fail("{}: '{}' is in the zip twice", where_, printable(name));
      spans.emplace_back(local, entry.begin + entry.size);
      at += size;
    }
    std::sort(spans.begin(), spans.end());
    for (size_t i = 1; i < spans.size(); ++i)
      if (spans[i].first < spans[i - 1].second)
        fail("{}: two entries of the zip overlap at byte {}", where_, spans[i].first);
    return entries;
  }

 private:
  struct Range {
    uint64_t at, size;
  };

  template <class T>
  T number(uint64_t at) const {  // of a range that was checked
    T v;
    std::memcpy(&v, bytes_.data() + at, sizeof v);
    return v;
  }
  std::string_view text(uint64_t at, uint64_t n) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, static_cast<size_t>(n)};
  }

  void find_directory() {
    const size_t size = bytes_.size();
    if (size < kEndBytes) fail("{}: a zip of {} bytes is truncated", where_, size);
    size_t at = size - kEndBytes;
    const size_t last = at > kMaxComment ? at - kMaxComment : 0;
    while (number<uint32_t>(at) != kEnd || number<uint16_t>(at + 20) != size - kEndBytes - at) {
      if (at == last) fail("{}: the zip has no directory at its end: the file is truncated", where_);
      --at;
    }
    uint64_t directory_size = number<uint32_t>(at + 12);
    count_ = number<uint16_t>(at + 10), begin_ = number<uint32_t>(at + 16), end_ = at;
    if (number<uint16_t>(at + 4) != 0 || number<uint16_t>(at + 6) != 0)
      fail("{}: a zip in several parts is not supported", where_);
    if (at >= kLocatorBytes && number<uint32_t>(at - kLocatorBytes) == kLocator64) {
      const auto end64 = number<uint64_t>(at - kLocatorBytes + 8);
      if (at - kLocatorBytes < kEnd64Bytes || end64 > at - kLocatorBytes - kEnd64Bytes ||
          number<uint32_t>(end64) != kEnd64)
        fail("{}: the end of the zip64 directory is damaged", where_);
      count_ = number<uint64_t>(end64 + 32), directory_size = number<uint64_t>(end64 + 40);
      begin_ = number<uint64_t>(end64 + 48), end_ = end64;
    }
    if (directory_size > end_ || begin_ > end_ - directory_size)
      fail("{}: a zip directory of {} bytes at {} is outside the file", where_, directory_size, begin_);
    end_ = begin_ + directory_size;
    if (count_ > directory_size / kCentralBytes)
      fail("{}: {} entries do not fit a zip directory of {} bytes", where_, count_, directory_size);
  }

  // The size and place of the entry at `at`, from the extra field where 32 bits do not hold them.
  std::pair<size_t, ZipEntry> located(uint64_t at, const std::string& name, Range extra) const {
    const std::string what = fmt::format("{}, zip entry '{}'", where_, printable(name));
    if ((number<uint16_t>(at + 8) & 1) != 0) fail("{}: is encrypted", what);
    const bool compressed = number<uint16_t>(at + 10) != 0;
    uint64_t stored = number<uint32_t>(at + 20), size = number<uint32_t>(at + 24), local = number<uint32_t>(at + 42);
    Range wide = wide_fields(extra, what);
    for (uint64_t* field : {&size, &stored, &local}) {
      if (*field != kSaturated) continue;
      if (wide.size < 8) fail("{}: its zip64 field is missing", what);
      *field = number<uint64_t>(wide.at);
      wide.at += 8, wide.size -= 8;
    }
    if (!compressed && stored != size) fail("{}: {} bytes stored, {} expected", what, stored, size);
    if (begin_ < kLocalBytes || local > begin_ - kLocalBytes || number<uint32_t>(local) != kLocal)
      fail("{}: no entry begins at byte {}", what, local);
    const uint64_t names = number<uint16_t>(local + 26), header = kLocalBytes + names + number<uint16_t>(local + 28);
    if (header > begin_ - local || stored > begin_ - local - header)
      fail("{}: {} bytes at {} are outside the file (truncated?)", what, stored, local + header);
    if (text(local + kLocalBytes, names) != name) fail("{}: is called otherwise where it is stored", what);
    return {static_cast<size_t>(local),
            {static_cast<size_t>(local + header), static_cast<size_t>(stored), compressed}};
  }
  // The zip64 field (1) of the extra fields.
  Range wide_fields(Range extra, const std::string& what) const {
    while (extra.size >= 4) {
      const uint64_t size = number<uint16_t>(extra.at + 2);
      if (size > extra.size - 4) fail("{}: an extra field is truncated", what);
      if (number<uint16_t>(extra.at) == 1) return {extra.at + 4, size};
      extra.at += 4 + size, extra.size -= 4 + size;
    }
    return {extra.at, 0};
  }

  std::span<const std::byte> bytes_;
  const std::string& where_;
  uint64_t count_ = 0, begin_ = 0, end_ = 0;  // of the directory
};

}  // namespace

std::map<std::string, ZipEntry> read_zip_directory(std::span<const std::byte> bytes, const std::string& where) {
  return ZipReader(bytes, where).read();
}

}  // namespace quern
