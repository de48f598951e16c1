// Tables of the fast loops of this folder; vec_math.h explains the raw pointers. SsdTable holds the parts of chunked
// SSD that are not matrix products, on tiles of at most kSsdChunk rows; SsmTable the rest.
#pragma once
#include <cstdint>

namespace quern::kernels {

// Arguments go by value: a body then keeps them in registers, whatever it stores.
struct SsdDelta {
  const float* dt;
  int64_t dt_row;
  const float* bias;
  float lo, hi;
  int64_t rows, heads;
  float* delta;  // [rows, heads]
};
struct SsdDecayBackward {
  const float *cb, *dm, *hi, *lo;
  int64_t q, row;
  float *to, *dcb, *r;
};
struct SsdScaleRows {
  const float* x;
  int64_t x_row;
  const float* f = nullptr;  // null: 1
  int64_t rows, n, n_pad;
  float* y;
  int64_t y_row;
};
struct SsdAddRows {
  const float* x;
  int64_t x_row;
  const float* f;
  int64_t rows, n;
  float* y;
  int64_t y_row;
};
struct SsdBlendRows {
  const float* a;
  int64_t a_row;
  const float* f = nullptr;  // null: 1
  const float* b;
  int64_t b_row;
  float d;
  int64_t rows, n;
  float* out;
  int64_t out_row;
};
struct SsdRowDots {
  const float* a;
  int64_t a_row;
  const float* b;
  int64_t b_row, rows, n;
  float* out;  // [rows]
};
struct SsdStep {
  float* s;  // [n_state, p]
  int64_t s_row, n_state, p;
  float decay, delta;
  const float *x, *b, *c;
  float d;
  float* y;
};

struct SsdTable {
  void (*delta)(SsdDelta);                           // delta[i, h] = clamp(softplus(dt[i, h] + bias[h]))
  void (*exp)(const float* x, int64_t n, float* y);  // y[i] = exp(min(0, x[i]))
  // m[i, j] = cb[i, j]·exp(s_i − s_j) for j ≤ i; zeros up to the end of a row tile behind it. s = hi + lo: where
  // decays are strong, s is large and neighbors differ by little.
  void (*decay)(const float* cb, const float* hi, const float* lo, int64_t q, int64_t row, float* m);
  // The same m (`to`), and with dm given: dcb[i, j] += dm·exp(s_i − s_j), r[i, j] = dm·m for j ≤ i.
  void (*decay_backward)(SsdDecayBackward);
  void (*scale_rows)(SsdScaleRows);  // y[i, c] = f[i]·x[i, c], zeros from n to n_pad
  void (*add_rows)(SsdAddRows);      // y[i, c] += f[i]·x[i, c]
  void (*blend_rows)(SsdBlendRows);  // out[i, c] = f[i]·a[i, c] + d·b[i, c]
  void (*row_dots)(SsdRowDots);      // out[i] = Σ_c a[i, c]·b[i, c]
  // One token: s[n, p] ← decay·s[n, p] + b[n]·delta·x[p];  y[p] = Σ_n c[n]·s[n, p] + d·x[p]
  void (*step)(SsdStep);
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

struct ConvSlope {
  const float* gy;
  int64_t gy_row;
  float *gw, *gb;  // may be null
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
  // dv[t] = gy[t]·SiLU'(v[t]), gw[j, c] += dv·x, gb += dv; y: dv
  void (*conv_slope)(const ConvRows&, ConvSlope, int64_t begin, int64_t end);
  // gx[t] = Σ_j w[j]·dv[t + K − 1 − j] over the rows that exist; x: dv, y: gx
  void (*conv_input)(const ConvRows&, int64_t rows, int64_t begin, int64_t end);
  void (*scan)(const ScanRowBlock&);
  void (*scan_backward)(const ScanRowBlock&, const ScanRowBlockBackward&);
};
extern const SsmTable ssm_avx2, ssm_avx512;

}  // namespace quern::kernels
