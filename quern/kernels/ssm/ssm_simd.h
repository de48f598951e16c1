// Tables of the fast loops of this folder; vec_math.h explains the raw pointers. SsdTable holds the parts of chunked
// SSD that are not matrix products, on tiles of at most kSsdChunk rows; SsmTable the rest.
#pragma once
#include <cstdint>

namespace quern::kernels {

struct SsdTable {
  // delta[i, h] = clamp(softplus(dt[i, h] + bias[h])), rows of delta `heads` long.
  void (*delta)(const float* dt, int64_t dt_row, const float* bias, float lo, float hi, int64_t rows, int64_t heads,
                float* delta);
  void (*exp)(const float* x, int64_t n, float* y);  // y[i] = exp(min(0, x[i]))
  // m[i, j] = cb[i, j]·exp(s_i − s_j) for j ≤ i; zeros up to the end of a row tile behind it. s = hi + lo: where
  // decays are strong, s is large and neighbors differ by little.
  void (*decay)(const float* cb, const float* hi, const float* lo, int64_t q, int64_t row, float* m);
  // The same m, and with dm given: dcb[i, j] += dm·exp(s_i − s_j), r[i, j] = dm·m for j ≤ i.
  void (*decay_backward)(const float* cb, const float* dm, const float* hi, const float* lo, int64_t q, int64_t row,
                         float* m, float* dcb, float* r);
  // y[i, c] = f[i]·x[i, c] (f null: 1), zeros from n to n_pad.
  void (*scale_rows)(const float* x, int64_t x_row, const float* f, int64_t rows, int64_t n, int64_t n_pad, float* y,
                     int64_t y_row);
  // y[i, c] += f[i]·x[i, c]
  void (*add_rows)(const float* x, int64_t x_row, const float* f, int64_t rows, int64_t n, float* y, int64_t y_row);
  // out[i, c] = f[i]·a[i, c] + d·b[i, c] (f null: 1)
  void (*blend_rows)(const float* a, int64_t a_row, const float* f, const float* b, int64_t b_row, float d,
                     int64_t rows, int64_t n, float* out, int64_t out_row);
  // out[i] = Σ_c a[i, c]·b[i, c]
  void (*row_dots)(const float* a, int64_t a_row, const float* b, int64_t b_row, int64_t rows, int64_t n, float* out);
  // One token: s[n, p] ← decay·s[n, p] + b[n]·delta·x[p];  y[p] = Σ_n c[n]·s[n, p] + d·x[p]
  void (*step)(float* s, int64_t s_row, int64_t n_state, int64_t p, float decay, float delta, const float* x,
               const float* b, const float* c, float d, float* y);
};
extern const SsdTable ssd_avx2, ssd_avx512;

struct GatedNormRows {
  const float *y, *z, *w, *g_out;  // g_out: backward
  float *out, *gz;                 // out: forward's output, or gy
  int64_t y_row, z_row, g_row, out_row, gz_row, width, groups;
  float eps;
};

struct ConvRows {
  const float *x, *w, *b;
  const float* tail;  // [K−1, C] rows before the segment, or null
  float* y;
  int64_t x_row, y_row, tail_row, channels, taps;
};

// One strip of at most kLanes channels of the selective scan over one segment.
struct ScanRowBlock {
  const float *x, *dt, *z, *b, *c, *a, *d, *bias;  // x, dt, z, a, d, bias at the strip's first channel
  int64_t x_row, dt_row, z_row, b_row, c_row, a_row;
  float* state;  // [N, ·] at the strip's first channel, or null: from zero and forgotten
  int64_t state_row;
  float* y;
  int64_t y_row;
  int64_t rows, n_state, channels;
};
struct ScanRowBlockBackward {
  const float* gy;
  int64_t gy_row;
  float *gx, *gdt, *gz;
  int64_t gx_row, gdt_row, gz_row;
  float *lanes_b, *lanes_c;  // [rows, N, kLanes]: added to, summed over lanes by the caller
  float *ga, *gd, *gbias;    // may be null
  int64_t ga_row;
  float* kept;  // scratch: (rows / kScanBlock + 1 + kScanBlock + 1)·N·kLanes
};
constexpr int64_t kScanBlock = 64;  // states kept between two checkpoints

struct SsmTable {
  int64_t lanes;
  void (*gated_norm)(const GatedNormRows&, int64_t begin, int64_t end);
  void (*gated_norm_backward)(const GatedNormRows&, float* gw, int64_t begin, int64_t end);
  void (*conv)(const ConvRows&, int64_t begin, int64_t end);  // rows of one segment, x and y at its first
  // dv[t] = gy[t]·SiLU'(v[t]), gw[j, c] += dv·x, gb += dv (both may be null); y: dv
  void (*conv_slope)(const ConvRows&, const float* gy, int64_t gy_row, float* gw, float* gb, int64_t begin,
                     int64_t end);
  // gx[t] = Σ_j w[j]·dv[t + K − 1 − j] over the rows that exist; x: dv, y: gx
  void (*conv_input)(const ConvRows&, int64_t rows, int64_t begin, int64_t end);
  void (*scan)(const ScanRowBlock&);
  void (*scan_backward)(const ScanRowBlock&, const ScanRowBlockBackward&);
};
extern const SsmTable ssm_avx2, ssm_avx512;

}  // namespace quern::kernels
