// Shape: the extents (or strides) of a tensor, up to eight, stored inline: tensor handles are copied by the hundred
// for one token and must not allocate. It behaves like a vector of int64_t.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>

#include "quern/base/error.h"

namespace quern {

class Shape {
 public:
  static constexpr size_t kMaxDims = 8;
  using value_type = int64_t;
  using iterator = int64_t*;
  using const_iterator = const int64_t*;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(dims.begin(), dims.end()) {}
  Shape(std::span<const int64_t> dims) : Shape(dims.begin(), dims.end()) {}
  explicit Shape(size_t n, int64_t value = 0) : n_(checked(n)) { std::fill_n(dims_, n, value); }
  template <std::input_iterator I>
  Shape(I first, I last) {
    for (; first != last; ++first) push_back(static_cast<int64_t>(*first));
  }

  size_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  int64_t* data() { return dims_; }
  const int64_t* data() const { return dims_; }
  int64_t* begin() { return dims_; }
  int64_t* end() { return dims_ + n_; }
  const int64_t* begin() const { return dims_; }
  const int64_t* end() const { return dims_ + n_; }
  int64_t& operator[](size_t i) { return dims_[i]; }
  int64_t operator[](size_t i) const { return dims_[i]; }
  int64_t& back() { return dims_[n_ - 1]; }
  int64_t back() const { return dims_[n_ - 1]; }
  int64_t front() const { return dims_[0]; }

  void push_back(int64_t d) {
    checked(size_t{n_} + 1);
    dims_[n_++] = d;
  }
  void pop_back() { --n_; }
  void insert(const int64_t* at, int64_t d) {
    const auto i = at - dims_;
    push_back(d);
    std::rotate(dims_ + i, dims_ + n_ - 1, dims_ + n_);
  }
  void erase(const int64_t* at) {
    std::copy(at + 1, static_cast<const int64_t*>(end()), dims_ + (at - dims_));
    --n_;
  }

  friend bool operator==(const Shape& a, const Shape& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static uint32_t checked(size_t n) {
    if (n > kMaxDims) fail("a tensor of {} dimensions: at most {} are supported", n, kMaxDims);
    return static_cast<uint32_t>(n);
  }

  int64_t dims_[kMaxDims] = {};
  uint32_t n_ = 0;
};

}  // namespace quern
