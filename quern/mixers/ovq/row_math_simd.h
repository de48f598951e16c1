// Table of f32 loops behind RowMath<float>; the bodies, row_math_rows.h, are compiled once per instruction set.
#pragma once
#include <cstdint>

namespace quern::mixers {

// c[m, n] (+)= Σ_k a[m, k]·b[k, n]; a by two strides, rows of b and c contiguous. Every element is one chain of
// multiply-adds over k in order, whatever m and n are: a row alone has the bits it has among others.
template <class T>
struct SmallProduct {
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  T* c;
  int64_t c_row, m, n, k;
  bool add;
};

struct RowMathTable {
  void (*product)(const SmallProduct<float>&);
  float (*largest)(int64_t n, const float* x);     // −∞ of nothing
  void (*exps)(int64_t n, float shift, float* x);  // x = e^(x − shift)
  float (*sum)(int64_t n, const float* x);
  float (*dot)(int64_t n, const float* x, const float* y);
  void (*scale)(int64_t n, float s, float* x);                      // x = s·x
  void (*divide)(int64_t n, float s, const float* d, float* x);     // x = s·x / d
  void (*add)(int64_t n, float s, const float* x, float* y);        // y += s·x
  void (*center)(int64_t n, float mean, const float* p, float* x);  // x = p·(x − mean)
};
extern const RowMathTable row_math_avx2, row_math_avx512;

}  // namespace quern::mixers
