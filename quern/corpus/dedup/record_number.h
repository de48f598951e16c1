// The number of a record over all inputs of a run or a plan, in five bytes: up to 2^40, 10^12. Tables that hold one for
// every pair or document have room for 12 billion rows at a quarter more than four bytes would take. Within one shard,
// and within one process, numbers have 32 bits (BandRecord, Documents::survivor): both refuse more by name.
#pragma once
#include <cstdint>

namespace quern::corpus {

#pragma pack(push, 1)
class RecordNumber {
 public:
  static constexpr uint64_t kEnd = uint64_t{1} << 40;  // what is numbered is below this

  constexpr RecordNumber() = default;
  constexpr RecordNumber(uint64_t n) : low_(static_cast<uint32_t>(n)), high_(static_cast<uint8_t>(n >> 32)) {}
  constexpr operator uint64_t() const { return uint64_t{high_} << 32 | low_; }  // comparisons are those of numbers

 private:
  uint32_t low_ = 0;
  uint8_t high_ = 0;
};
#pragma pack(pop)
static_assert(sizeof(RecordNumber) == 5 && alignof(RecordNumber) == 1);

}  // namespace quern::corpus
