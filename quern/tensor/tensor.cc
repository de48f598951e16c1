#include "quern/tensor/tensor.h"

#include <algorithm>
#include <cstring>

#include "quern/base/arena.h"

namespace quern {
namespace {

Shape row_major(const Shape& s) {
  Shape st(s.size());
  int64_t n = 1;
  for (int i = static_cast<int>(s.size()) - 1; i >= 0; --i) st[i] = n, n *= s[i];
  return st;
}

double get(const void* p, DType t, int64_t i) {
  switch (t) {
    case DType::f32:
      return static_cast<const float*>(p)[i];
    case DType::f64:
      return static_cast<const double*>(p)[i];
    case DType::bf16:
      return static_cast<float>(static_cast<const bf16*>(p)[i]);
    case DType::f16:
      return f16_to_f32(static_cast<const uint16_t*>(p)[i]);
    case DType::f8e4m3:
      return f8e4m3_to_f32(static_cast<const uint8_t*>(p)[i]);
    case DType::i64:
      return static_cast<double>(static_cast<const int64_t*>(p)[i]);
    case DType::i32:
      return static_cast<const int32_t*>(p)[i];
    case DType::i8:
      return static_cast<const int8_t*>(p)[i];
    case DType::u8:
    case DType::boolean:
      return static_cast<const uint8_t*>(p)[i];
  }
  return 0;
}

void put(void* p, DType t, int64_t i, double v) {
  switch (t) {
    case DType::f32:
      static_cast<float*>(p)[i] = static_cast<float>(v);
      return;
    case DType::f64:
      static_cast<double*>(p)[i] = v;
      return;
    case DType::bf16:
      static_cast<bf16*>(p)[i] = bf16(static_cast<float>(v));
      return;
    case DType::i64:
      static_cast<int64_t*>(p)[i] = static_cast<int64_t>(v);
      return;
    case DType::i32:
      static_cast<int32_t*>(p)[i] = static_cast<int32_t>(v);
      return;
    case DType::i8:
      static_cast<int8_t*>(p)[i] = static_cast<int8_t>(v);
      return;
    case DType::u8:
    case DType::boolean:
      static_cast<uint8_t*>(p)[i] = static_cast<uint8_t>(v);
      return;
    case DType::f16:
    case DType::f8e4m3:
      break;
  }
  fail("cannot write elements of type {}", dtype_name(t));
}

template <class F>
void for_each_index(const Shape& shape, F&& f) {  // f(coordinates)
  int64_t n = element_count(shape);
  Shape at(shape.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    f(at);
    for (int d = static_cast<int>(shape.size()) - 1; d >= 0 && ++at[d] == shape[d]; --d) at[d] = 0;
  }
}

int64_t offset(const Shape& at, const Shape& strides) {
  int64_t o = 0;
  for (size_t d = 0; d < at.size(); ++d) o += at[d] * strides[d];
  return o;
}

void convert(const void* src, DType from, void* dst, DType to, int64_t n) {
  if (from == to) {
    std::memcpy(dst, src, static_cast<size_t>(n * dtype_size(from)));
  } else if (from == DType::bf16 && to == DType::f32) {
    auto* s = static_cast<const bf16*>(src);
    auto* d = static_cast<float*>(dst);
    for (int64_t i = 0; i < n; ++i) d[i] = static_cast<float>(s[i]);
  } else if (from == DType::f32 && to == DType::bf16) {
    auto* s = static_cast<const float*>(src);
    auto* d = static_cast<bf16*>(dst);
    for (int64_t i = 0; i < n; ++i) d[i] = bf16(s[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) put(dst, to, i, get(src, from, i));
  }
}

}  // namespace

int64_t element_count(const Shape& s) {
  int64_t n = 1;
  for (int64_t d : s)
    if (d < 0 || __builtin_mul_overflow(n, d, &n)) fail("shape {} is not possible", to_string(s));
  return n;
}

std::string to_string(const Shape& s) { return fmt::format("[{}]", fmt::join(s, ", ")); }

Tensor Tensor::empty(Shape shape, DType t) {
  Tensor r;
  r.size_ = element_count(shape);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(r.size_, dtype_size(t), &bytes)) fail("shape {} is too large", to_string(shape));
  size_t n = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  r.data_ = cached_alloc(n);
  r.owner_ = std::shared_ptr<const void>(r.data_, [n](const void* p) { cached_free(const_cast<void*>(p), n); });
  r.dtype_ = t;
  r.strides_ = row_major(shape);
  r.shape_ = std::move(shape);
  return r;
}

Tensor Tensor::zeros(Shape shape, DType t) {
  Tensor r = empty(std::move(shape), t);
  std::memset(r.data_, 0, static_cast<size_t>(r.bytes()));
  return r;
}

Tensor Tensor::full(Shape shape, DType t, double value) {
  Tensor r = empty(std::move(shape), t);
  r.fill(value);
  return r;
}

Tensor Tensor::external(const void* data, Shape shape, DType t, std::shared_ptr<const void> owner) {
  Tensor r;
  r.size_ = element_count(shape);
  r.data_ = const_cast<void*>(data);
  r.owner_ = std::move(owner);
  r.dtype_ = t;
  r.strides_ = row_major(shape);
  r.shape_ = std::move(shape);
  return r;
}

bool Tensor::contiguous() const {
  int64_t n = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape_[i] != 1 && strides_[i] != n) return false;
    n *= shape_[i];
  }
  return true;
}

Tensor Tensor::reshape(Shape shape) const {
  QUERN_CHECK(contiguous(), "reshape of a strided tensor {}", to_string(shape_));
  int64_t known = 1, hole = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1)
      hole = static_cast<int64_t>(i);
    else
      known *= shape[i];
  }
  if (hole >= 0) shape[static_cast<size_t>(hole)] = known == 0 ? 0 : size_ / known;
  QUERN_CHECK(element_count(shape) == size_, "{} as {}", to_string(shape_), to_string(shape));
  Tensor r = *this;
  r.strides_ = row_major(shape);
  r.shape_ = std::move(shape);
  return r;
}

Tensor Tensor::narrow(int d, int64_t begin, int64_t n) const {
  if (d < 0) d += rank();
  QUERN_CHECK(d >= 0 && d < rank() && begin >= 0 && n >= 0 && begin + n <= shape_[d], "narrow({}, {}, {}) of {}", d,
              begin, n, to_string(shape_));
  Tensor r = *this;
  r.data_ = static_cast<std::byte*>(data_) + begin * strides_[d] * dtype_size(dtype_);
  r.shape_[d] = n;
  r.size_ = element_count(r.shape_);
  return r;
}

Tensor Tensor::swap_dims(int a, int b) const {
  QUERN_CHECK(a >= 0 && b >= 0 && a < rank() && b < rank());
  Tensor r = *this;
  std::swap(r.shape_[static_cast<size_t>(a)], r.shape_[static_cast<size_t>(b)]);
  std::swap(r.strides_[static_cast<size_t>(a)], r.strides_[static_cast<size_t>(b)]);
  return r;
}

Tensor Tensor::clone() const {
  Tensor r = empty(shape_, dtype_);
  r.copy_from(*this);
  return r;
}

Tensor Tensor::to(DType t) const {
  if (t == dtype_) return *this;
  Tensor r = empty(shape_, t);
  r.copy_from(*this);
  return r;
}

void Tensor::fill(double value) const {
  QUERN_CHECK(contiguous());
  if (dtype_ == DType::f32)
    std::fill_n(data<float>(), size_, static_cast<float>(value));
  else
    for (int64_t i = 0; i < size_; ++i) put(data_, dtype_, i, value);
}

void Tensor::copy_from(const Tensor& src) const {
  QUERN_CHECK(src.shape_ == shape_, "copy of {} into {}", to_string(src.shape_), to_string(shape_));
  if (src.contiguous() && contiguous()) {
    convert(src.data_, src.dtype_, data_, dtype_, size_);
    return;
  }
  // Strided: copy runs of the last dimension when it is contiguous on both sides, else element by element.
  if (rank() > 0 && strides_.back() == 1 && src.strides_.back() == 1) {
    Shape outer(shape_.begin(), shape_.end() - 1);
    int64_t n = shape_.back(), es = dtype_size(src.dtype_), ed = dtype_size(dtype_);
    for_each_index(outer, [&](const Shape& at) {
      convert(static_cast<const std::byte*>(src.data_) + offset(at, src.strides_) * es, src.dtype_,
              static_cast<std::byte*>(data_) + offset(at, strides_) * ed, dtype_, n);
    });
    return;
  }
  for_each_index(shape_, [&](const Shape& at) {
    put(data_, dtype_, offset(at, strides_), get(src.data_, src.dtype_, offset(at, src.strides_)));
  });
}

double Tensor::item(int64_t i) const {
  QUERN_CHECK(contiguous() && i >= 0 && i < size_);
  return get(data_, dtype_, i);
}

}  // namespace quern
