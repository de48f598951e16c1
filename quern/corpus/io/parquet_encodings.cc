#include "quern/corpus/io/parquet_encodings.h"

#include <algorithm>

namespace quern::corpus::parquet {
namespace {

constexpr uint64_t kMaxBlock = uint64_t{1} << 24;  // values; writers take 128 to some thousands

// `width` bits from bit `at` on, the lowest first. They must be there.
uint64_t bits_at(std::string_view bytes, size_t at, int width) {
  uint64_t v = 0;
  for (int have = 0; have < width;) {
    const auto b = static_cast<unsigned char>(bytes[at >> 3]);
    const int skip = static_cast<int>(at & 7), some = std::min(8 - skip, width - have);
    v |= static_cast<uint64_t>((b >> skip) & ((1u << some) - 1)) << have;
    have += some, at += static_cast<size_t>(some);
  }
  return v;
}

}  // namespace

bool HybridRuns::next(uint32_t& v) {
  while (left_ == 0)
    if (!begin_run()) return false;
  --left_;
  if (repeated_) {
    v = value_;
    return true;
  }
  v = static_cast<uint32_t>(bits_at(bytes_, bit_, width_));
  bit_ += static_cast<size_t>(width_);
  if (left_ == 0) bytes_.remove_prefix((bit_ + 7) / 8);
  return true;
}

bool HybridRuns::begin_run() {
  uint64_t head = 0;
  size_t at = 0;
  for (int shift = 0;; shift += 7) {
    if (at >= bytes_.size() || shift > 28) return false;
    const auto b = static_cast<unsigned char>(bytes_[at++]);
    head |= static_cast<uint64_t>(b & 0x7F) << shift;
    if (!(b & 0x80)) break;
  }
  bytes_.remove_prefix(at);
  repeated_ = !(head & 1);
  if (repeated_) {
    const size_t n = static_cast<size_t>(width_ + 7) / 8;
    if (bytes_.size() < n) return false;
    value_ = 0;
    for (size_t i = 0; i < n; ++i) value_ |= static_cast<uint32_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    bytes_.remove_prefix(n);
    left_ = head >> 1;
  } else {
    const uint64_t groups = head >> 1;
    if (width_ > 0 && groups > bytes_.size() / static_cast<size_t>(width_)) {
      if (groups > bytes_.size() + 1) return false;  // the last group may be cut by some writers
      left_ = bytes_.size() * 8 / static_cast<size_t>(width_);
    } else {
      left_ = groups * 8;
    }
    bit_ = 0;
  }
  return true;
}

bool Deltas::varint(uint64_t& v) {
  v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes_.empty()) return false;
    const auto b = static_cast<unsigned char>(bytes_[0]);
    bytes_.remove_prefix(1);
    v |= static_cast<uint64_t>(b & 0x7F) << shift;
    if (!(b & 0x80)) return true;
  }
  return false;
}

bool Deltas::number(int64_t& v) {
  uint64_t u = 0;
  if (!varint(u)) return false;
  v = static_cast<int64_t>(u >> 1) ^ -static_cast<int64_t>(u & 1);
  return true;
}

bool Deltas::begin(std::string_view bytes) {
  *this = {};
  bytes_ = bytes;
  uint64_t block = 0;
  int64_t first = 0;
  if (!varint(block) || !varint(parts_) || !varint(left_) || !number(first)) return false;
  if (block == 0 || block > kMaxBlock || parts_ == 0 || block % parts_ != 0) return false;
  part_values_ = block / parts_;
  if (part_values_ % 8 != 0) return false;  // parts are whole bytes
  part_ = parts_;
  value_ = static_cast<uint64_t>(first);
  return true;
}

bool Deltas::begin_part() {
  if (part_ == parts_) {
    int64_t minimum = 0;
    if (!number(minimum) || bytes_.size() < parts_) return false;
    minimum_ = static_cast<uint64_t>(minimum);
    widths_ = bytes_.substr(0, parts_);
    bytes_.remove_prefix(parts_);
    part_ = 0;
  }
  width_ = static_cast<unsigned char>(widths_[part_++]);
  const uint64_t size = part_values_ / 8 * static_cast<uint64_t>(width_);
  if (width_ > 64 || size > bytes_.size()) return false;
  packed_ = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  in_part_ = part_values_, bit_ = 0;
  return true;
}

bool Deltas::next(int64_t& v) {
  if (left_ == 0) return false;
  if (!first_) {
    if (in_part_ == 0 && !begin_part()) return false;
    --in_part_;
    value_ += minimum_ + bits_at(packed_, bit_, width_);
    bit_ += static_cast<size_t>(width_);
  }
  first_ = false;
  --left_;
  v = static_cast<int64_t>(value_);
  return true;
}

bool Deltas::behind(std::string_view& rest) const {
  Deltas d = *this;
  if (d.first_ && d.left_ > 0) --d.left_;
  while (true) {
    const uint64_t some = std::min(d.left_, d.in_part_);
    d.left_ -= some;
    if (d.left_ == 0) break;
    if (!d.begin_part()) return false;
  }
  rest = d.bytes_;
  return true;
}

}  // namespace quern::corpus::parquet
