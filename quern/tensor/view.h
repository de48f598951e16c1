// View<T, R>: a typed, non-owning window of rank R; what kernels take. Trivially copyable. Strides count elements.
// Kernels require the last dimension contiguous unless their header says otherwise.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace quern {

template <class T, int R>
struct View {
  T* data = nullptr;
  std::array<int64_t, R> shape{};
  std::array<int64_t, R> stride{};

  View() = default;
  View(T* p, std::array<int64_t, R> s) : data(p), shape(s) {
    int64_t n = 1;
    for (int i = R - 1; i >= 0; --i) stride[i] = n, n *= s[i];
  }
  View(T* p, std::array<int64_t, R> s, std::array<int64_t, R> st) : data(p), shape(s), stride(st) {}
  // View<float> converts to View<const float>.
  template <class U>
  requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>) View(const View<U, R>& o)
      : data(o.data), shape(o.shape), stride(o.stride) {}

  template <class... I>
  T& operator()(I... i) const {
    static_assert(sizeof...(I) == R);
    int64_t at = 0, d = 0;
    ((at += static_cast<int64_t>(i) * stride[static_cast<size_t>(d++)]), ...);
    return data[at];
  }
  View<T, (R > 1 ? R - 1 : 1)> operator[](int64_t i) const requires(R > 1) {
    View<T, R - 1> v;
    v.data = data + i * stride[0];
    for (int d = 1; d < R; ++d) v.shape[d - 1] = shape[d], v.stride[d - 1] = stride[d];
    return v;
  }
  T* row(int64_t i) const { return data + i * stride[0]; }
  View slice(int64_t begin, int64_t end) const {  // of the first dimension
    View v = *this;
    v.data += begin * stride[0];
    v.shape[0] = end - begin;
    return v;
  }
  int64_t size() const {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    return n;
  }
  bool contiguous() const {
    int64_t n = 1;
    for (int i = R - 1; i >= 0; --i) {
      if (shape[i] != 1 && stride[i] != n) return false;
      n *= shape[i];
    }
    return true;
  }
  explicit operator bool() const { return data != nullptr; }
};

}  // namespace quern
