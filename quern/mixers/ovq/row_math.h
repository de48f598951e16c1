// Row loops of the dictionary memories: small matrix products and the parts of a softmax. Single-threaded: threads are
// used over heads and sequences. Double uses plain loops, f32 those of the instruction set.
#pragma once
#include "quern/mixers/ovq/row_math_simd.h"

namespace quern::mixers {

template <class T>
struct RowMath {
  static void product(const SmallProduct<T>& p);
  static T largest(int64_t n, const T* x);
  static void exps(int64_t n, T shift, T* x);
  static T sum(int64_t n, const T* x);
  static T dot(int64_t n, const T* x, const T* y);
  static void scale(int64_t n, T s, T* x);
  static void divide(int64_t n, T s, const T* d, T* x);
  static void add(int64_t n, T s, const T* x, T* y);
  static void center(int64_t n, T mean, const T* p, T* x);
};

}  // namespace quern::mixers
