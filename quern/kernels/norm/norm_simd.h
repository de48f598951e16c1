// Table of fast row norms; vec_math.h explains the raw pointers. Rows [begin, end) of [T, D] or [T, H, d] arrays given
// by their strides; statistics sum in f32 over 4·kLanes chains. A row is read twice, the second time from the
// first-level cache, so the cost is one read and one write of memory.
#pragma once
#include <cstdint>

namespace quern::kernels {

struct NormRows {  // RMSNorm: b, mean null
  const float *x, *w, *b;
  float *y, *mean, *inv;  // mean, inv may be null
  int64_t x_stride, y_stride, d;
  float eps;
};

struct NormRowsBackward {  // RMSNorm: mean null
  const float *x, *w, *mean, *inv, *gy;
  float* gx;
  int64_t x_stride, gy_stride, gx_stride, d;
};

struct L2Rows {                       // x, y, gy, gx: [T, H, d], the first two dimensions by stride
  const float *x, *gy, *temperature;  // gy: backward; temperature may be null
  float *y, *norm;                    // y: output or gx; norm [T, H]: forward, may be null
  const float* saved_norm;            // backward
  int64_t heads, d, x_stride, x_head, gy_stride, gy_head, y_stride, y_head, norm_stride;
  float scale, eps;
};

struct NormTable {  // [1]: outputs are stored past the cache
  void (*rms_norm[2])(const NormRows&, int64_t begin, int64_t end);
  void (*layer_norm[2])(const NormRows&, int64_t begin, int64_t end);
  void (*rms_norm_backward[2])(const NormRowsBackward&, float* gw, float* gb, int64_t begin, int64_t end);
  void (*layer_norm_backward[2])(const NormRowsBackward&, float* gw, float* gb, int64_t begin, int64_t end);
  void (*l2_norm[2])(const L2Rows&, int64_t begin, int64_t end);
  void (*l2_norm_backward[2])(const L2Rows&, float* g_temperature, int64_t begin, int64_t end);
};
extern const NormTable norm_avx2, norm_avx512;

}  // namespace quern::kernels
