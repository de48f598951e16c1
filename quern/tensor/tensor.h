// Tensor: a cheap-to-copy handle {buffer, dtype, shape, strides}; used at module boundaries, on the tape and in
// checkpoints. Copying a Tensor shares its buffer; clone() copies the elements.
#pragma once
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/tensor/dtype.h"
#include "quern/tensor/shape.h"
#include "quern/tensor/view.h"

namespace quern {

int64_t element_count(const Shape& s);  // throws Error on overflow or a negative extent
std::string to_string(const Shape& s);  // "[2, 3]"

class Tensor {
 public:
  Tensor() = default;  // undefined
  static Tensor empty(Shape shape, DType t);
  static Tensor zeros(Shape shape, DType t);
  static Tensor full(Shape shape, DType t, double value);
  template <class T>
  static Tensor of(Shape shape, std::span<const T> values) {
    Tensor r = empty(std::move(shape), dtype_of<T>::value);
    QUERN_CHECK(static_cast<int64_t>(values.size()) == r.size());
    std::copy(values.begin(), values.end(), r.data<T>());
    return r;
  }
  template <class T>
  static Tensor of(Shape shape, std::initializer_list<T> v) {
    return of<T>(std::move(shape), std::span<const T>(v.begin(), v.size()));
  }
  // Memory owned by somebody else (a mapped file): `owner` is kept alive. Read-only by convention.
  static Tensor external(const void* data, Shape shape, DType t, std::shared_ptr<const void> owner);

  bool defined() const { return data_ != nullptr || !shape_.empty() || owner_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t dim(int i) const { return shape_[static_cast<size_t>(i < 0 ? i + rank() : i)]; }
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * dtype_size(dtype_); }
  const Shape& strides() const { return strides_; }
  bool contiguous() const;
  void* raw() const { return data_; }

  template <class T>
  T* data() const {
    QUERN_CHECK(dtype_ == dtype_of<T>::value, "tensor holds {}", dtype_name(dtype_));
    return static_cast<T*>(data_);
  }
  template <class T>
  std::span<T> span() const {
    QUERN_CHECK(contiguous());
    return {data<T>(), static_cast<size_t>(size_)};
  }
  template <class T, int R>
  View<T, R> view() const {
    using E = std::remove_const_t<T>;
    QUERN_CHECK(rank() == R, "shape {} seen as rank {}", to_string(shape_), R);
    View<T, R> v;
    v.data = data<E>();
    for (int i = 0; i < R; ++i) v.shape[i] = shape_[i], v.stride[i] = strides_[i];
    return v;
  }

  Tensor reshape(Shape shape) const;                       // contiguous; shares memory; one extent may be -1
  Tensor narrow(int dim, int64_t begin, int64_t n) const;  // shares memory
  Tensor swap_dims(int a, int b) const;                    // shares memory
  Tensor clone() const;                                    // contiguous copy
  Tensor contiguous_copy_if_needed() const { return contiguous() ? *this : clone(); }
  Tensor to(DType t) const;  // conversion; same dtype returns *this
  void fill(double value) const;
  void copy_from(const Tensor& src) const;  // same shape; converts

  double item(int64_t i = 0) const;  // any float or integer dtype, flat index of a contiguous tensor
  bool same_buffer(const Tensor& o) const { return owner_ == o.owner_; }
  bool unique() const { return owner_.use_count() == 1; }  // no other handle on this buffer

 private:
  std::shared_ptr<const void> owner_;
  void* data_ = nullptr;
  DType dtype_ = DType::f32;
  Shape shape_, strides_;
  int64_t size_ = 0;
};

void save_npy(const std::string& path, const Tensor& t);  // f32, f64, i32, i64; bf16 is widened
Tensor load_npy(const std::string& path);

}  // namespace quern
