// Bodies of SsdTable; included only by ssd_avx2.cc and ssd_avx512.cc.
#pragma once
#include "quern/kernels/ssm/softplus.h"
#include "quern/kernels/ssm/ssm_simd.h"

namespace quern::kernels {
namespace {

constexpr int64_t kRowTile = 6;  // rows of a product tile: it reads m up to its last row's diagonal

void delta_rows(SsdDelta args) {
  for (int64_t i = 0; i < args.rows; ++i)
    each_vec(args.heads, [&](int64_t h, auto m) {
      const Vf v = vsoftplus(load(args.dt + i * args.dt_row + h, m) + load(args.bias + h, m));
      store(args.delta + i * args.heads + h, vmin(vmax(v, vset(args.lo)), vset(args.hi)), m);
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

void decay_backward(SsdDecayBackward args) {
  for (int64_t i = 0; i < args.q; ++i) {
    const Vf hi_i = vset(args.hi[i]), lo_i = vset(args.lo[i]);
    each_vec(i + 1, [&](int64_t j, auto m) {
      const int64_t at = i * args.row + j;
      const Vf l = vexp(vmin((hi_i - load(args.hi + j, m)) + (lo_i - load(args.lo + j, m)), vset(0))),
               v = load(args.cb + at, m) * l, g = load(args.dm + at, m);
      store(args.to + at, v, m);
      store(args.dcb + at, fma(g, l, load(args.dcb + at, m)), m);
      store(args.r + at, g * v, m);
    });
    zero_behind(args.to + i * args.row, i, args.q);
  }
}

void scale_rows(SsdScaleRows args) {
  for (int64_t i = 0; i < args.rows; ++i) {
    const Vf k = vset(args.f ? args.f[i] : 1);
    each_vec(args.n, [&](int64_t c, auto m) {
      store(args.y + i * args.y_row + c, k * load(args.x + i * args.x_row + c, m), m);
    });
    for (int64_t c = args.n; c < args.n_pad; ++c) args.y[i * args.y_row + c] = 0;
  }
}

void add_rows(SsdAddRows args) {
  for (int64_t i = 0; i < args.rows; ++i) {
    const Vf k = vset(args.f[i]);
    each_vec(args.n, [&](int64_t c, auto m) {
      store(args.y + i * args.y_row + c,
            fma(k, load(args.x + i * args.x_row + c, m), load(args.y + i * args.y_row + c, m)), m);
    });
  }
}

void blend_rows(SsdBlendRows args) {
  for (int64_t i = 0; i < args.rows; ++i) {
    const Vf k = vset(args.f ? args.f[i] : 1), dv = vset(args.d);
    each_vec(args.n, [&](int64_t c, auto m) {
      store(args.out + i * args.out_row + c,
            fma(k, load(args.a + i * args.a_row + c, m), dv * load(args.b + i * args.b_row + c, m)), m);
    });
  }
}

void row_dots(SsdRowDots args) {
  for (int64_t i = 0; i < args.rows; ++i)
    args.out[i] = sum_vec(args.n, [&](int64_t c, auto m) {
      return load(args.a + i * args.a_row + c, m) * load(args.b + i * args.b_row + c, m);
    });
}

// kWidth vectors of channels from `at` on: as many chains of y as hide an addition's latency.
template <int kWidth>
inline void step_row_block(const SsdStep& a, int64_t at) {
  const Vf keep_rate = vset(a.decay), rate = vset(a.delta), dv = vset(a.d);
  const float *b = a.b, *c = a.c;  // no store can change these
  const int64_t n_state = a.n_state, s_row = a.s_row;
  Vf u[kWidth], sum[kWidth];
  for (int k = 0; k < kWidth; ++k) {
    const Vf xk = load(a.x + at + k * kLanes, Full{});
    u[k] = rate * xk, sum[k] = dv * xk;
  }
  float* row = a.s + at;
  for (int64_t n = 0; n < n_state; ++n, row += s_row) {
    const Vf bn = vset(b[n]), cn = vset(c[n]);
    for (int k = 0; k < kWidth; ++k) {
      const Vf v = fma(keep_rate, load(row + k * kLanes, Full{}), bn * u[k]);
      store(row + k * kLanes, v, Full{});
      sum[k] = fma(cn, v, sum[k]);
    }
  }
  for (int k = 0; k < kWidth; ++k) store(a.y + at + k * kLanes, sum[k], Full{});
}

void step(SsdStep a) {
  int64_t at = 0;
  for (; at + 4 * kLanes <= a.p; at += 4 * kLanes) step_row_block<4>(a, at);
  for (; at + kLanes <= a.p; at += kLanes) step_row_block<1>(a, at);
  if (at == a.p) return;
  const PartialVec m(a.p - at);
  const Vf xv = load(a.x + at, m);
  Vf sum = vset(a.d) * xv;
  for (int64_t n = 0; n < a.n_state; ++n) {
    float* row = a.s + n * a.s_row + at;
    const Vf v = fma(vset(a.decay), load(row, m), vset(a.b[n] * a.delta) * xv);
    store(row, v, m);
    sum = fma(vset(a.c[n]), v, sum);
  }
  store(a.y + at, sum, m);
}

constexpr SsdTable kSsdTable = {delta_rows, exp_row,  decay, decay_backward, scale_rows, add_rows,
                                blend_rows, row_dots, step};

}  // namespace
}  // namespace quern::kernels
