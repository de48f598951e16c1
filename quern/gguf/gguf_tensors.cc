#include "quern/gguf/gguf_tensors.h"

#include <cstring>
#include <limits>

#include "quern/base/error.h"

namespace quern::gguf {
namespace {

Tensor halves(const Tensor& t, int64_t heads, int64_t rotary) {
  const int64_t rows = t.dim(0), row_bytes = t.bytes() / rows, d = rows / heads;
  Tensor out = t.clone();
  const auto* from = static_cast<const std::byte*>(t.raw());
  auto* to = static_cast<std::byte*>(out.raw());
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t s = 0; s < 2; ++s)
      for (int64_t j = 0; j < rotary / 2; ++j)
        std::memcpy(to + (h * d + s * (rotary / 2) + j) * row_bytes, from + (h * d + 2 * j + s) * row_bytes,
                    static_cast<size_t>(row_bytes));
  return out;
}

Tensor stacked(const Tensor& a, const Tensor& b, const Shape& shape) {
  const size_t axis = shape.size() - 2;
  const int64_t outer = axis == 0 ? 1 : a.dim(0);
  Tensor out = Tensor::empty(shape, a.dtype());
  if (a.size() == 0) return out;
  const auto half = static_cast<size_t>(a.bytes() / outer);
  auto* to = static_cast<std::byte*>(out.raw());
  for (int64_t o = 0; o < outer; ++o)
    for (const Tensor* t : {&a, &b}) {
      std::memcpy(to, static_cast<const std::byte*>(t->raw()) + static_cast<size_t>(o) * half, half);
      to += half;
    }
  return out;
}

}  // namespace

const GgufFile::Entry& GgufTensors::entry(const std::string& name) const {
  auto it = file_->entries().find(name);
  if (it == file_->entries().end()) fail("{}: tensor '{}' is missing", file_->path().string(), name);
  return it->second;
}

Tensor GgufTensors::read(const std::string& name) const {
  const GgufFile::Entry& e = entry(name);
  const Tensor t = file_->tensor(name);
  return e.shape.size() > 1 && e.type != GgufType::f32 && e.type != GgufType::bf16 ? t.to(unpacked_) : t;
}

void GgufTensors::put(const std::string& hf, const GgufFile::Entry& stored, Shape shape, int64_t bytes,
                      std::function<Tensor()> read) {
  TensorFolder::Entry e{gguf_format(static_cast<uint32_t>(stored.type))->name, std::move(shape), bytes,
                        std::move(read)};
  if (!entries_.emplace(hf, std::move(e)).second) fail("{}: two tensors are called '{}'", file_->path().string(), hf);
}

// Readers outlive this object: each keeps a copy of it, which shares the file.
void GgufTensors::add(const std::string& hf, const std::string& name, Shape shape, Change change) {
  used_.insert(name);
  const GgufFile::Entry& e = entry(name);
  put(hf, e, std::move(shape), static_cast<int64_t>(e.end - e.begin),
      [from = GgufTensors(file_, unpacked_), name, change = std::move(change)] {
        const Tensor t = from.read(name);
        return change ? change(t) : t;
      });
}

void GgufTensors::add(const std::string& hf, const std::string& name) { add(hf, name, shape(name), {}); }

void GgufTensors::add_stacked(const std::string& hf, const std::string& above, const std::string& below) {
  used_.insert({above, below});
  const GgufFile::Entry &a = entry(above), &b = entry(below);
  if (a.shape != b.shape || a.shape.size() < 2 || a.shape.size() > 3)
    fail("{}, tensor '{}', shape: {}, expected that of '{}', {}", file_->path().string(), below, to_string(b.shape),
         above, to_string(a.shape));
  Shape shape = a.shape;
  int64_t& rows = shape[shape.size() - 2];
  if (rows > std::numeric_limits<int64_t>::max() / 2)
    fail("{}, tensor '{}', shape: {}, twice its rows are too many", file_->path().string(), above, to_string(shape));
  rows *= 2;
  put(hf, a, shape, static_cast<int64_t>(a.end - a.begin + b.end - b.begin),
      [from = GgufTensors(file_, unpacked_), above, below, shape] {
        Tensor x = from.read(above), y = from.read(below);
        if (x.dtype() != y.dtype()) x = x.to(from.unpacked_), y = y.to(from.unpacked_);
        return stacked(x, y, shape);
      });
}

void GgufTensors::add_rotated(const std::string& hf, const std::string& name, int64_t heads, int64_t rotary) {
  const Shape& s = shape(name);
  if (s.empty() || heads < 1 || s[0] % heads != 0 || s[0] / heads % 2 != 0 || rotary > s[0] / heads)
    fail("{}, tensor '{}', shape: {} is not whole pairs of {} heads", file_->path().string(), name, to_string(s),
         heads);
  add(hf, name, s, [heads, rotary](const Tensor& t) { return t.size() > 0 ? halves(t, heads, rotary) : t; });
}

TensorFolder GgufTensors::folder() && {
  for (const auto& [name, e] : file_->entries())
    if (!used_.count(name)) add(name, name);
  return TensorFolder(file_->path(), std::move(entries_));
}

}  // namespace quern::gguf
