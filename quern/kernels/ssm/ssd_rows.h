// Bodies of SsdTable; included only by ssd_avx2.cc and ssd_avx512.cc.
#pragma once
#include "quern/kernels/ssm/softplus.h"
#include "quern/kernels/ssm/ssm_simd.h"

namespace quern::kernels {
namespace {

constexpr int64_t kRowTile = 6;  // rows of a product tile: it reads m up to its last row's diagonal

void delta_rows(const float* dt, int64_t dt_row, const float* bias, float lo, float hi, int64_t rows, int64_t heads,
                float* delta) {
  for (int64_t i = 0; i < rows; ++i)
    each_vec(heads, [&](int64_t h, auto m) {
      const Vf v = vsoftplus(load(dt + i * dt_row + h, m) + load(bias + h, m));
      store(delta + i * heads + h, vmin(vmax(v, vset(lo)), vset(hi)), m);
    });
}

void exp_row(const float* x, int64_t n, float* y) {
  each_vec(n, [&](int64_t i, auto m) { store(y + i, vexp(vmin(load(x + i, m), vset(0))), m); });
}

inline void zero_behind(float* row, int64_t i, int64_t q) {
  for (int64_t j = i + 1; j < i + kRowTile && j < q; ++j) row[j] = 0;
}

void decay(const float* cb, const float* hi, const float* lo, int64_t q, int64_t row, float* to) {
  for (int64_t i = 0; i < q; ++i) {
    const Vf hi_i = vset(hi[i]), lo_i = vset(lo[i]);
    each_vec(i + 1, [&](int64_t j, auto m) {
      const Vf l = vexp(vmin((hi_i - load(hi + j, m)) + (lo_i - load(lo + j, m)), vset(0)));
      store(to + i * row + j, load(cb + i * row + j, m) * l, m);
    });
    zero_behind(to + i * row, i, q);
  }
}

void decay_backward(const float* cb, const float* dm, const float* hi, const float* lo, int64_t q, int64_t row,
                    float* to, float* dcb, float* r) {
  for (int64_t i = 0; i < q; ++i) {
    const Vf hi_i = vset(hi[i]), lo_i = vset(lo[i]);
    each_vec(i + 1, [&](int64_t j, auto m) {
      const int64_t at = i * row + j;
      const Vf l = vexp(vmin((hi_i - load(hi + j, m)) + (lo_i - load(lo + j, m)), vset(0))), v = load(cb + at, m) * l,
               g = load(dm + at, m);
      store(to + at, v, m);
      store(dcb + at, fma(g, l, load(dcb + at, m)), m);
      store(r + at, g * v, m);
    });
    zero_behind(to + i * row, i, q);
  }
}

void scale_rows(const float* x, int64_t x_row, const float* f, int64_t rows, int64_t n, int64_t n_pad, float* y,
                int64_t y_row) {
  for (int64_t i = 0; i < rows; ++i) {
    const Vf k = vset(f ? f[i] : 1);
    each_vec(n, [&](int64_t c, auto m) { store(y + i * y_row + c, k * load(x + i * x_row + c, m), m); });
    for (int64_t c = n; c < n_pad; ++c) y[i * y_row + c] = 0;
  }
}

void add_rows(const float* x, int64_t x_row, const float* f, int64_t rows, int64_t n, float* y, int64_t y_row) {
  for (int64_t i = 0; i < rows; ++i) {
    const Vf k = vset(f[i]);
    each_vec(n, [&](int64_t c, auto m) {
      store(y + i * y_row + c, fma(k, load(x + i * x_row + c, m), load(y + i * y_row + c, m)), m);
    });
  }
}

void blend_rows(const float* a, int64_t a_row, const float* f, const float* b, int64_t b_row, float d, int64_t rows,
                int64_t n, float* out, int64_t out_row) {
  for (int64_t i = 0; i < rows; ++i) {
    const Vf k = vset(f ? f[i] : 1), dv = vset(d);
    each_vec(n, [&](int64_t c, auto m) {
      store(out + i * out_row + c, fma(k, load(a + i * a_row + c, m), dv * load(b + i * b_row + c, m)), m);
    });
  }
}

void row_dots(const float* a, int64_t a_row, const float* b, int64_t b_row, int64_t rows, int64_t n, float* out) {
  for (int64_t i = 0; i < rows; ++i)
    out[i] = sum_vec(n, [&](int64_t c, auto m) { return load(a + i * a_row + c, m) * load(b + i * b_row + c, m); });
}

// kWidth vectors of channels at once: as many chains of y as hide an addition's latency.
template <int kWidth>
inline void step_row_block(float* s, int64_t s_row, int64_t n_state, float decay, float delta, const float* x,
                           const float* b, const float* c, float d, float* y) {
  const Vf keep_rate = vset(decay), rate = vset(delta), dv = vset(d);
  Vf u[kWidth], sum[kWidth];
  for (int k = 0; k < kWidth; ++k) {
    const Vf xk = load(x + k * kLanes, Full{});
    u[k] = rate * xk, sum[k] = dv * xk;
  }
  for (int64_t n = 0; n < n_state; ++n) {
    const Vf bn = vset(b[n]), cn = vset(c[n]);
    float* row = s + n * s_row;
    for (int k = 0; k < kWidth; ++k) {
      const Vf v = fma(keep_rate, load(row + k * kLanes, Full{}), bn * u[k]);
      store(row + k * kLanes, v, Full{});
      sum[k] = fma(cn, v, sum[k]);
    }
  }
  for (int k = 0; k < kWidth; ++k) store(y + k * kLanes, sum[k], Full{});
}

void step(float* s, int64_t s_row, int64_t n_state, int64_t p, float decay, float delta, const float* x,
          const float* b, const float* c, float d, float* y) {
  int64_t at = 0;
  for (; at + 4 * kLanes <= p; at += 4 * kLanes)
    step_row_block<4>(s + at, s_row, n_state, decay, delta, x + at, b, c, d, y + at);
  for (; at + kLanes <= p; at += kLanes)
    step_row_block<1>(s + at, s_row, n_state, decay, delta, x + at, b, c, d, y + at);
  if (at == p) return;
  const PartialVec m(p - at);
  const Vf xv = load(x + at, m);
  Vf sum = vset(d) * xv;
  for (int64_t n = 0; n < n_state; ++n) {
    float* row = s + n * s_row + at;
    const Vf v = fma(vset(decay), load(row, m), vset(b[n] * delta) * xv);
    store(row, v, m);
    sum = fma(vset(c[n]), v, sum);
  }
  store(y + at, sum, m);
}

constexpr SsdTable kSsdTable = {delta_rows, exp_row,  decay, decay_backward, scale_rows, add_rows,
                                blend_rows, row_dots, step};

}  // namespace
}  // namespace quern::kernels
