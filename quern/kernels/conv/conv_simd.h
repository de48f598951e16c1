// Table of fast convolution pieces; the bodies, conv_rows.h, are compiled once per instruction set. Depthwise weights
// are transposed, [K, C], so that a vector holds one tap of neighboring channels.
#pragma once
#include <cstdint>

namespace quern::kernels {

struct DepthwiseRows {  // y_r[c] = b[c] + Σ_j w[j, c]·x_{r+j}[c] for `rows` rows; taps ≥ 1
  const float *x, *w, *b;
  float* y;
  int64_t x_stride, w_stride, y_stride, channels, taps, rows;
};

struct DepthwiseGradRows {  // gw[j, c] += Σ_r gy_r[c]·x_{r+j}[c], gb[c] += Σ_r gy_r[c]; either may be null
  const float *x, *gy;
  float *gw, *gb;
  int64_t x_stride, gy_stride, channels, taps, rows;
};

struct DotRows {  // y_r[o] = b[o] + Σ_i w[o, i]·x_r[i], w [outputs, n] contiguous; each w is read once in four rows
  const float *x, *w, *b;
  float* y;
  int64_t x_stride, y_stride, n, outputs, rows;
};

struct ConvTable {
  void (*depthwise[2])(const DepthwiseRows&);  // [1]: y is stored past the cache
  void (*depthwise_gradient)(const DepthwiseGradRows&);
  void (*interleave2)(const float* a, const float* b, int64_t n, float* out);  // out = a0 b0 a1 b1 …
  void (*dot)(const DotRows&);
};
extern const ConvTable conv_avx2, conv_avx512;

}  // namespace quern::kernels
