// GGUF reader: a bounds-checked cursor, metadata as Json values, the validated directory.
#include "quern/tensor/gguf.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "quern/base/mmap.h"

namespace quern {
namespace {

constexpr int64_t kMaxArrayItems = int64_t{1} << 24;  // vocabularies and their merges are far smaller
constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
constexpr uint32_t kMaxExtents = 4;

class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}
  const std::string& where() const { return where_; }
  size_t at() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }

  template <class T>
  T number(const std::string& what) {
    need(sizeof(T), what);
    T v;
    std::memcpy(&v, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return v;
  }
  std::string text(const std::string& what) {
    const auto n = number<uint64_t>(what + ", length");
    need(n, what);
    std::string s(reinterpret_cast<const char*>(bytes_.data()) + at_, static_cast<size_t>(n));
    at_ += static_cast<size_t>(n);
    return s;
  }
  // A count of things that take at least `each` bytes.
  uint64_t count(uint64_t each, const std::string& what) {
    const auto n = number<uint64_t>(what);
    if (n > left() / each) fail("{}, {}: {} do not fit the {} bytes left (truncated?)", where_, what, n, left());
    return n;
  }

 private:
  void need(uint64_t n, const std::string& what) const {
    if (n > left()) fail("{}, {}: needs {} bytes, {} are left (truncated?)", where_, what, n, left());
  }
  std::span<const std::byte> bytes_;
  std::string where_;
  size_t at_ = 0;
};

enum GgufValueType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };
constexpr uint64_t kMinBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

template <class T>
Json whole(Cursor& c, const std::string& what) {
  const T v = c.number<T>(what);
  if constexpr (std::is_same_v<T, uint64_t>)
    if (v > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      fail("{}, {}: {} is too large", c.where(), what, v);
  return Json(static_cast<int64_t>(v));
}

Json value(Cursor& c, uint32_t kind, const std::string& what);

Json items(Cursor& c, const std::string& what) {
  const auto kind = c.number<uint32_t>(what + ", kind of items");
  if (kind == array) fail("{}, {}: arrays of arrays are not supported", c.where(), what);
  if (kind > f64) fail("{}, {}: items of unknown kind {}", c.where(), what, kind);
  const uint64_t n = c.count(kMinBytes[kind], what + ", number of items");
  if (n > static_cast<uint64_t>(kMaxArrayItems))
    fail("{}, {}: {} items, expected at most {}", c.where(), what, n, kMaxArrayItems);
  Json::Array a;
  a.reserve(static_cast<size_t>(n));
  for (uint64_t i = 0; i < n; ++i) a.push_back(value(c, kind, what));
  return Json(std::move(a));
}

Json value(Cursor& c, uint32_t kind, const std::string& what) {
  switch (kind) {
    case u8:
      return whole<uint8_t>(c, what);
    case i8:
      return whole<int8_t>(c, what);
    case u16:
      return whole<uint16_t>(c, what);
    case i16:
      return whole<int16_t>(c, what);
    case u32:
      return whole<uint32_t>(c, what);
    case i32:
      return whole<int32_t>(c, what);
    case f32:
      return Json(static_cast<double>(c.number<float>(what)));
    case boolean: {
      const auto b = c.number<uint8_t>(what);
      if (b > 1) fail("{}, {}: {} is not a truth value, expected 0 or 1", c.where(), what, b);
      return Json(b == 1);
    }
    case text:
      return Json(c.text(what));
    case array:
      return items(c, what);
    case u64:
      return whole<uint64_t>(c, what);
    case i64:
      return whole<int64_t>(c, what);
    case f64:
      return Json(c.number<double>(what));
    default:
      fail("{}, {}: unknown kind {} of value", c.where(), what, kind);
  }
}

// Offsets are still relative to the data; begin and end become places in the file later.
GgufFile::Entry entry(Cursor& c, const std::string& what) {
  GgufFile::Entry e;
  const auto extents = c.number<uint32_t>(what + ", number of extents");
  if (extents > kMaxExtents) fail("{}, {}: {} extents, expected at most {}", c.where(), what, extents, kMaxExtents);
  for (uint32_t i = 0; i < extents; ++i)
    e.shape.insert(e.shape.begin(), whole<uint64_t>(c, what + ", shape").as_int());
  const auto type = c.number<uint32_t>(what + ", type");
  const GgufFormat* f = gguf_format(type);
  if (!f)
    fail("{}, {}, type: {} is not supported: expected F32, F16, BF16, Q8_0, Q4_K or Q6_K", c.where(), what, type);
  e.type = f->type;
  const int64_t row = e.shape.empty() ? 1 : e.shape.back();
  if (row % f->elements != 0)
    fail("{}, {}, shape: rows of {} are not whole {} blocks of {}", c.where(), what, row, f->name, f->elements);
  int64_t count = 1, bytes = 0;
  bool overflow = false;
  for (int64_t d : e.shape) overflow = __builtin_mul_overflow(count, d, &count) || overflow;
  overflow = __builtin_mul_overflow(count / f->elements, f->bytes, &bytes) || overflow;
  if (overflow) fail("{}, {}, shape: {} is too large", c.where(), what, to_string(e.shape));
  e.begin = static_cast<size_t>(c.number<uint64_t>(what + ", offset"));
  e.end = static_cast<size_t>(bytes);  // for now the length
  return e;
}

}  // namespace

GgufFile::GgufFile(const std::filesystem::path& path) : file_(std::make_shared<MappedFile>(path)) {
  const auto bytes = file_->bytes();
  Cursor c(bytes, path.string());
  if (bytes.size() < 4 || std::memcmp(bytes.data(), "GGUF", 4) != 0)
    fail("{}: not a GGUF file: it does not start with 'GGUF'", c.where());
  c.number<uint32_t>("magic");
  const auto version = c.number<uint32_t>("version");
  if (version != 2 && version != 3)
    fail("{}, version: {}, expected 2 or 3{}", c.where(), version,
         version >> 16 ? " (a big-endian file is not supported)" : "");
  const uint64_t tensors = c.count(24, "number of tensors"), keys = c.count(13, "number of metadata keys");
  for (uint64_t i = 0; i < keys; ++i) {
    const std::string key = c.text(fmt::format("metadata key {}", i));
    const std::string what = fmt::format("metadata '{}'", key);
    const auto kind = c.number<uint32_t>(what + ", kind");
    if (!metadata_.emplace(key, value(c, kind, what)).second) fail("{}, {}: given twice", c.where(), what);
  }
  uint64_t alignment = 32;
  if (auto it = metadata_.find("general.alignment"); it != metadata_.end()) {
    const int64_t a = it->second.as_int(c.where() + ", metadata 'general.alignment'");
    if (a < 8 || static_cast<uint64_t>(a) > kMaxAlignment || (a & (a - 1)) != 0)
      fail("{}, metadata 'general.alignment': {}, expected a power of two from 8 to {}", c.where(), a, kMaxAlignment);
    alignment = static_cast<uint64_t>(a);
  }
  for (uint64_t i = 0; i < tensors; ++i) {
    const std::string name = c.text(fmt::format("name of tensor {}", i));
    const std::string what = fmt::format("tensor '{}'", name);
    if (!entries_.emplace(name, entry(c, what)).second) fail("{}, {}: listed twice", c.where(), what);
  }
  const size_t data_at = (c.at() + alignment - 1) / alignment * alignment;
  const size_t room = data_at < bytes.size() ? bytes.size() - data_at : 0;
  std::vector<std::pair<size_t, std::string>> starts;
  for (auto& [name, e] : entries_) {
    const size_t offset = e.begin, length = e.end;
    if (offset % alignment != 0)
      fail("{}, tensor '{}', offset: {} is not a multiple of the alignment {}", c.where(), name, offset, alignment);
    if (length > room || offset > room - length)
      fail("{}, tensor '{}', offset: {} bytes at {} are outside the {} data bytes of the file (truncated?)",
           c.where(), name, length, offset, room);
    e.begin = data_at + offset;
    e.end = e.begin + length;
    if (length > 0) starts.emplace_back(e.begin, name);
  }
  std::sort(starts.begin(), starts.end());
  for (size_t i = 1; i < starts.size(); ++i)
    if (starts[i].first < entries_.at(starts[i - 1].second).end)
      fail("{}, tensor '{}', offset: its data overlaps that of '{}'", c.where(), starts[i].second,
           starts[i - 1].second);
}

const std::filesystem::path& GgufFile::path() const { return file_->path(); }

Tensor GgufFile::tensor(const std::string& name) const {
  auto it = entries_.find(name);
  if (it == entries_.end()) fail("{}: tensor '{}' is missing", path().string(), name);
  const Entry& e = it->second;
  const std::byte* p = file_->bytes().data() + e.begin;
  const GgufFormat& f = *gguf_format(static_cast<uint32_t>(e.type));
  if (f.elements > 1) {
    Tensor t = Tensor::empty(e.shape, DType::f32);
    gguf_dequantize(e.type, p, static_cast<int64_t>(e.end - e.begin) / f.bytes, t.data<float>());
    return t;
  }
  const DType type = e.type == GgufType::f32 ? DType::f32 : e.type == GgufType::f16 ? DType::f16 : DType::bf16;
  if (reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(f.bytes) == 0)
    return Tensor::external(p, e.shape, type, file_);
  Tensor t = Tensor::empty(e.shape, type);
  std::memcpy(t.raw(), p, e.end - e.begin);
  return t;
}

}  // namespace quern
