// Table of fast rotations of tokens [begin, end); the bodies, rope_rows.h, are compiled once per instruction set.
// Cost: one read and one write of x; the tables are read once per head, from the first-level cache.
#pragma once
#include <cstdint>

namespace quern::kernels {

struct RopeRows {
  const float *x, *cos, *sin;
  float* y;
  int64_t heads, d, n_freq, x_stride, x_head, y_stride, y_head, cos_stride, sin_stride;
  float sign;  // −1 rotates backwards
};

struct RopeTable {  // [1]: y is stored past the cache
  void (*half[2])(const RopeRows&, int64_t begin, int64_t end);
  void (*interleaved[2])(const RopeRows&, int64_t begin, int64_t end);
};
extern const RopeTable rope_avx2, rope_avx512;

}  // namespace quern::kernels
