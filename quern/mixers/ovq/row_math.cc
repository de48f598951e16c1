#include "quern/mixers/ovq/row_math.h"

#include <cmath>
#include <limits>

#include "quern/kernels/dispatch.h"

namespace quern::mixers {
namespace {

template <class T>
void product_ref(const SmallProduct<T>& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    T* c = p.c + i * p.c_row;
    if (!p.add) std::fill_n(c, p.n, T(0));
    for (int64_t k = 0; k < p.k; ++k) {
      const T a = p.a[i * p.a_row + k * p.a_col];
      const T* b = p.b + k * p.b_row;
      for (int64_t j = 0; j < p.n; ++j) c[j] += a * b[j];
    }
  }
}

// The table that f32 runs now; null: the plain loops. In double always the plain loops.
template <class T>
const RowMathTable* fast() {
  if constexpr (std::is_same_v<T, float>)
    return kernels::fast_table(row_math_avx2, row_math_avx512);
  else
    return nullptr;
}

}  // namespace

template <class T>
void RowMath<T>::product(const SmallProduct<T>& p) {
  if constexpr (std::is_same_v<T, float>)
    if (const RowMathTable* f = fast<T>()) return f->product(p);
  product_ref(p);
}

template <class T>
T RowMath<T>::largest(int64_t n, const T* x) {
  if constexpr (std::is_same_v<T, float>)
    if (const RowMathTable* f = fast<T>()) return f->largest(n, x);
  T maximum = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < n; ++i) maximum = std::max(maximum, x[i]);
  return maximum;
}

template <class T>
void RowMath<T>::exps(int64_t n, T shift, T* x) {
  if constexpr (std::is_same_v<T, float>)
    if (const RowMathTable* f = fast<T>()) return f->exps(n, shift, x);
  for (int64_t i = 0; i < n; ++i) x[i] = std::exp(x[i] - shift);
}

template <class T>
T RowMath<T>::sum(int64_t n, const T* x) {
  if constexpr (std::is_same_v<T, float>)
    if (const RowMathTable* f = fast<T>()) return f->sum(n, x);
  T s = 0;
  for (int64_t i = 0; i < n; ++i) s += x[i];
  return s;
}

template <class T>
T RowMath<T>::dot(int64_t n, const T* x, const T* y) {
  if constexpr (std::is_same_v<T, float>)
    if (const RowMathTable* f = fast<T>()) return f->dot(n, x, y);
  T s = 0;
  for (int64_t i = 0; i < n; ++i) s += x[i] * y[i];
  return s;
}

template <class T>
void RowMath<T>::scale(int64_t n, T s, T* x) {
  if constexpr (std::is_same_v<T, float>)
    if (const RowMathTable* f = fast<T>()) return f->scale(n, s, x);
  for (int64_t i = 0; i < n; ++i) x[i] *= s;
}

template <class T>
void RowMath<T>::divide(int64_t n, T s, const T* d, T* x) {
  if constexpr (std::is_same_v<T, float>)
    if (const RowMathTable* f = fast<T>()) return f->divide(n, s, d, x);
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * s / d[i];
}

template <class T>
void RowMath<T>::add(int64_t n, T s, const T* x, T* y) {
  if constexpr (std::is_same_v<T, float>)
    if (const RowMathTable* f = fast<T>()) return f->add(n, s, x, y);
  for (int64_t i = 0; i < n; ++i) y[i] += s * x[i];
}

template <class T>
void RowMath<T>::center(int64_t n, T mean, const T* p, T* x) {
  if constexpr (std::is_same_v<T, float>)
    if (const RowMathTable* f = fast<T>()) return f->center(n, mean, p, x);
  for (int64_t i = 0; i < n; ++i) x[i] = p[i] * (x[i] - mean);
}

template struct RowMath<float>;
template struct RowMath<double>;

}  // namespace quern::mixers
