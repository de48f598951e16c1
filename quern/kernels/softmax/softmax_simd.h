// Table of fast softmax rows [begin, end); the bodies, softmax_rows.h, are compiled once per instruction set. A row is
// passed three times (max; exponentials and their sum; scaling), the last two in cache.
#pragma once
#include <cstdint>

namespace quern::kernels {

struct SoftmaxRows {  // softmax: x → y; log_sum_exp: x → y[t]; backward: x = p, gp → y = gx
  const float *x, *gp;
  float* y;
  int64_t x_stride, gp_stride, y_stride, n;
};

struct SoftmaxTable {
  void (*softmax)(const SoftmaxRows&, int64_t begin, int64_t end);
  void (*backward)(const SoftmaxRows&, int64_t begin, int64_t end);
  void (*log_sum_exp)(const SoftmaxRows&, int64_t begin, int64_t end);
};
extern const SoftmaxTable softmax_avx2, softmax_avx512;

}  // namespace quern::kernels
