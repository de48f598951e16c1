// Thrift's compact protocol, in which Parquet keeps its metadata: a reader that checks every length and the depth of
// nesting, and a writer.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "quern/base/error.h"

namespace quern::corpus::parquet {

constexpr int kMaxNesting = 24;

enum Wire : uint8_t { kStop, kTrue, kFalse, kByte, kI16, kI32, kI64, kDouble, kBinary, kList, kSet, kMap, kStruct };

class CompactReader {
 public:
  CompactReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}
  [[noreturn]] void bad(const char* why) const { fail("{}: damaged Parquet metadata: {}", name_, why); }
  size_t at() const { return at_; }

  uint8_t byte() {
    if (at_ >= bytes_.size()) bad("it ends early");
    return static_cast<uint8_t>(bytes_[at_++]);
  }
  uint64_t varint() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t b = byte();
      v |= static_cast<uint64_t>(b & 0x7F) << shift;
      if (!(b & 0x80)) return v;
    }
    bad("a number beyond 64 bits");
  }
  int64_t number() {
    const uint64_t v = varint();
    return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
  }
  std::string_view binary() {
    const uint64_t n = varint();
    if (n > bytes_.size() - at_) bad("a text longer than the rest");
    at_ += n;
    return bytes_.substr(at_ - n, n);
  }
  // f(field id, wire type) for every field; it must read the value or skip it.
  template <class F>
  void fields(F&& f) {
    if (++depth_ > kMaxNesting) bad("nested too deep");
    int16_t id = 0;
    while (true) {
      const uint8_t head = byte();
      const uint8_t type = head & 15;
      if (type == kStop) break;
      if (type > kStruct) bad("an unknown type");
      id = static_cast<int16_t>(head >> 4 ? id + (head >> 4) : number());
      f(id, type);
    }
    --depth_;
  }
  // f(wire type) for every element.
  template <class F>
  void list(F&& f) {
    const uint8_t head = byte();
    const uint64_t n = (head >> 4) == 15 ? varint() : head >> 4;
    if (n > bytes_.size() - at_) bad("a list longer than the rest");
    for (uint64_t i = 0; i < n; ++i) f(head & 15);
  }
  void skip_element(uint8_t type) {  // of a list, set or map, where a boolean takes a byte
    if (type == kTrue || type == kFalse)
      byte();
    else
      skip(type);
  }
  void skip(uint8_t type) {
    switch (type) {
      case kTrue:
      case kFalse:
        return;
      case kByte:
        byte();
        return;
      case kI16:
      case kI32:
      case kI64:
        varint();
        return;
      case kDouble:
        for (int i = 0; i < 8; ++i) byte();
        return;
      case kBinary:
        binary();
        return;
      case kList:
      case kSet:
        if (++depth_ > kMaxNesting) bad("nested too deep");
        list([&](uint8_t t) { skip_element(t); });
        --depth_;
        return;
      case kMap: {
        const uint64_t n = varint();
        if (n == 0) return;
        if (n > bytes_.size() - at_ || ++depth_ > kMaxNesting) bad("a map longer than the rest");
        const uint8_t types = byte();
        for (uint64_t i = 0; i < n; ++i) skip_element(types >> 4), skip_element(types & 15);
        --depth_;
        return;
      }
      case kStruct:
        fields([&](int16_t, uint8_t t) { skip(t); });
        return;
      default:
        bad("an unknown type");
    }
  }
  int64_t integer(uint8_t type) {
    if (type != kI16 && type != kI32 && type != kI64) bad("expected a number");
    return number();
  }
  int32_t small(uint8_t type) {
    const int64_t v = integer(type);
    if (v < std::numeric_limits<int32_t>::min() || v > std::numeric_limits<int32_t>::max()) bad("a number too large");
    return static_cast<int32_t>(v);
  }
  void want(uint8_t type, uint8_t expected) const {
    if (type != expected) bad("a field of another type than expected");
  }

 private:
  std::string_view bytes_;
  const std::string& name_;
  size_t at_ = 0;
  int depth_ = 0;
};

class CompactWriter {
 public:
  std::string out;
  void varint(uint64_t v) {
    for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
    out += static_cast<char>(v);
  }
  void head(int16_t id, uint8_t type) {
    const int step = id - last_;
    if (step > 0 && step < 16) {
      out += static_cast<char>(step << 4 | type);
    } else {
      out += static_cast<char>(type);
      number(id);
    }
    last_ = id;
  }
  void number(int64_t v) { varint(static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63)); }
  void i32(int16_t id, int64_t v) { head(id, kI32), number(v); }
  void i64(int16_t id, int64_t v) { head(id, kI64), number(v); }
  void text(std::string_view s) { varint(s.size()), out += s; }
  void text(int16_t id, std::string_view s) { head(id, kBinary), text(s); }
  void list(int16_t id, uint8_t type, size_t n) {
    head(id, kList);
    if (n < 15)
      out += static_cast<char>(n << 4 | type);
    else
      out += static_cast<char>(0xF0 | type), varint(n);
  }
  template <class F>
  void record(F&& f) {  // a struct's fields and its end
    const int16_t outer = last_;
    last_ = 0;
    f();
    out += '\0';
    last_ = outer;
  }

 private:
  int16_t last_ = 0;
};

}  // namespace quern::corpus::parquet
