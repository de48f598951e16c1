// Number encodings inside Parquet pages. HybridRuns: runs of equal values and bit-packed groups of eight (levels,
// dictionary indices, booleans). Deltas: the first number, then blocks of differences above their minimum, each block
// in parts with as many bits as the largest of the part needs; also used for lengths of texts. Both return one number
// at a time and check every length against the available bytes; next() is false at the end and on invalid data.
#pragma once
#include <cstdint>
#include <string_view>

namespace quern::corpus::parquet {

class HybridRuns {
 public:
  HybridRuns() = default;
  HybridRuns(std::string_view bytes, int width) : bytes_(bytes), width_(width) {}
  bool next(uint32_t& v);

 private:
  bool begin_run();
  std::string_view bytes_;
  int width_ = 0;
  uint64_t left_ = 0;
  size_t bit_ = 0;
  bool repeated_ = false;
  uint32_t value_ = 0;
};

class Deltas {
 public:
  bool begin(std::string_view bytes);  // reads the head
  bool next(int64_t& v);
  uint64_t left() const { return left_; }
  // What lies behind the numbers, found without unpacking them; false where they are damaged.
  bool behind(std::string_view& rest) const;

 private:
  bool varint(uint64_t& v);
  bool number(int64_t& v);
  bool begin_part();
  std::string_view bytes_, widths_, packed_;
  uint64_t left_ = 0, part_values_ = 0, parts_ = 0, part_ = 0, in_part_ = 0;
  int width_ = 0;
  size_t bit_ = 0;
  bool first_ = true;
  uint64_t value_ = 0, minimum_ = 0;  // differences wrap around, as the format wants it
};

}  // namespace quern::corpus::parquet
