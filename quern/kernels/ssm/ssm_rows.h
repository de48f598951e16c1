// Bodies of SsmTable: gated norm, causal convolution with SiLU, selective scan; included only by ssm_avx2.cc and
// ssm_avx512.cc. The equations are those of the *_ref.cc files.
#pragma once
#include "quern/kernels/ssm/softplus.h"
#include "quern/kernels/ssm/ssm_simd.h"

namespace quern::kernels {
namespace {

inline Vf vsilu(Vf x) { return x * vsigmoid(x); }
inline Vf vsilu_slope(Vf x, Vf s) { return s * fma(x, vset(1.0f) - s, vset(1.0f)); }  // s = sigmoid(x)

void gated_norm_rows(const GatedNormRows& a, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t)
    for (int64_t g = 0; g < a.groups; ++g) {
      const float *y = a.y + t * a.y_row + g * a.width, *z = a.z + t * a.z_row + g * a.width, *w = a.w + g * a.width;
      float* out = a.out + t * a.out_row + g * a.width;
      const float squares = sum_vec(a.width, [&](int64_t c, auto m) {
        const Vf u = load(y + c, m) * vsilu(load(z + c, m));
        store(out + c, u, m);
        return u * u;
      });
      const Vf inv = vset(1 / __builtin_sqrtf(squares / static_cast<float>(a.width) + a.eps));
      each_vec(a.width, [&](int64_t c, auto m) { store(out + c, load(out + c, m) * inv * load(w + c, m), m); });
    }
}

void gated_norm_backward_rows(const GatedNormRows& a, float* gw, int64_t begin, int64_t end) {
  const float n = static_cast<float>(a.width);
  for (int64_t t = begin; t < end; ++t)
    for (int64_t g = 0; g < a.groups; ++g) {
      const int64_t first = g * a.width;
      const float *y = a.y + t * a.y_row + first, *z = a.z + t * a.z_row + first, *w = a.w + first,
                  *go = a.g_out + t * a.g_row + first;
      float *gy = a.out + t * a.out_row + first, *gz = a.gz + t * a.gz_row + first, *gws = gw ? gw + first : nullptr;
      const Sum2 sums = sum2_vec(a.width, [&](int64_t c, auto m) {
        const Vf u = load(y + c, m) * vsilu(load(z + c, m));
        return Vf2{u * u, u * load(go + c, m) * load(w + c, m)};
      });
      const float inv = 1 / __builtin_sqrtf(sums.a / n + a.eps);
      const Vf iv = vset(inv), along = vset(sums.b / n * inv * inv);
      each_vec(a.width, [&](int64_t c, auto m) {
        const Vf zc = load(z + c, m), s = vsigmoid(zc), yc = load(y + c, m), u = yc * zc * s, g0 = load(go + c, m);
        const Vf gu = iv * fnma(u, along, g0 * load(w + c, m));
        if (gws) store(gws + c, fma(g0, u * iv, load(gws + c, m)), m);
        store(gy + c, gu * zc * s, m);
        store(gz + c, gu * yc * vsilu_slope(zc, s), m);
      });
    }
}

constexpr int64_t kMaxTaps = 8;

// The rows that output row t reads, oldest first; null where there is none.
inline void tap_rows(const ConvRows& a, int64_t t, const float** rows) {
  for (int64_t j = 0; j < a.taps; ++j) {
    const int64_t from = t - a.taps + 1 + j;
    rows[j] = from >= 0 ? a.x + from * a.x_row : a.tail ? a.tail + (a.taps - 1 + from) * a.tail_row : nullptr;
  }
}

template <class M>
inline Vf convolved(const ConvRows& a, const float* const* rows, int64_t c, M m) {
  Vf v = a.b ? load(a.b + c, m) : vset(0);
  for (int64_t j = 0; j < a.taps; ++j)
    if (rows[j]) v = fma(load(a.w + j * a.channels + c, m), load(rows[j] + c, m), v);
  return v;
}

void conv_rows(const ConvRows& a, int64_t begin, int64_t end) {
  const float* rows[kMaxTaps];
  for (int64_t t = begin; t < end; ++t) {
    tap_rows(a, t, rows);
    float* y = a.y + t * a.y_row;
    if (a.taps == 4 && rows[0]) {
      const float *w = a.w, *r0 = rows[0], *r1 = rows[1], *r2 = rows[2], *r3 = rows[3];
      const int64_t C = a.channels;
      each_vec(C, [&](int64_t c, auto m) {
        Vf v = a.b ? load(a.b + c, m) : vset(0);
        v = fma(load(w + c, m), load(r0 + c, m), v);
        v = fma(load(w + C + c, m), load(r1 + c, m), v);
        v = fma(load(w + 2 * C + c, m), load(r2 + c, m), v);
        store(y + c, vsilu(fma(load(w + 3 * C + c, m), load(r3 + c, m), v)), m);
      });
      continue;
    }
    each_vec(a.channels, [&](int64_t c, auto m) { store(y + c, vsilu(convolved(a, rows, c, m)), m); });
  }
}

void conv_slope_rows(const ConvRows& a, ConvSlope slope, int64_t begin, int64_t end) {
  const float* rows[kMaxTaps];
  for (int64_t t = begin; t < end; ++t) {
    tap_rows(a, t, rows);
    const float* g = slope.gy + t * slope.gy_row;
    float* dv = a.y + t * a.y_row;
    each_vec(a.channels, [&](int64_t c, auto m) {
      const Vf v = convolved(a, rows, c, m), d = load(g + c, m) * vsilu_slope(v, vsigmoid(v));
      store(dv + c, d, m);
      if (slope.gb) store(slope.gb + c, load(slope.gb + c, m) + d, m);
      for (int64_t j = 0; slope.gw && j < a.taps; ++j) {
        float* to = slope.gw + j * a.channels + c;
        if (rows[j]) store(to, fma(d, load(rows[j] + c, m), load(to, m)), m);
      }
    });
  }
}

void conv_input_rows(const ConvRows& a, int64_t count, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t)
    each_vec(a.channels, [&](int64_t c, auto m) {
      Vf v = vset(0);
      for (int64_t j = 0; j < a.taps; ++j) {
        const int64_t out = t + a.taps - 1 - j;  // the output that reads row t through tap j
        if (out < count) v = fma(load(a.w + j * a.channels + c, m), load(a.x + out * a.x_row + c, m), v);
      }
      store(a.y + t * a.y_row + c, v, m);
    });
}

constexpr int64_t kMaxStates = 128;
constexpr int64_t kRowsAhead = 8;  // a strip's rows lie pages apart, where no hardware prefetcher follows

// 2ˣ for x ≤ 0, what decays need: five operations fewer than vexp. n = round(x), |x − n| ≤ ½, a polynomial of degree
// 6 (least squares on Chebyshev nodes, reweighted towards the minimax, 2e-9; 1e-7 with its roundings), exact at 0.
inline Vf vexp2_down(Vf x) {
  x = vmax(vset(-150.0f), x);
  const Vf n = vround(x), f = x - n;
  Vf p = vset(1.534579933e-04f);
  p = fma(p, f, vset(1.339993090e-03f));
  p = fma(p, f, vset(9.618489072e-03f));
  p = fma(p, f, vset(5.550328642e-02f));
  p = fma(p, f, vset(2.402264625e-01f));
  p = fma(p, f, vset(6.931471825e-01f));
  p = fma(p, f, vset(1.0f));
  return scale_by_power(p, n);
}
inline Vf in_twos(Vf delta) { return delta * vset(1.44269504f); }  // e^(Δ·A) = 2^(Δ·log2 e·A)

// S ← exp(Δ·A)·S + Δ·x·B for all N states of a strip.
template <class M>
inline void advance(const ScanRowBlock& a, int64_t t, Vf delta, const float* before, float* now, M m) {
  const Vf delta2 = in_twos(delta), dx = delta * load(a.x + t * a.x_row, m);
  for (int64_t n = 0; n < a.n_state; ++n) {
    const Vf keep_rate = vexp2_down(delta2 * load(a.a + n * a.a_row, m));
    store(now + n * kLanes, fma(keep_rate, load(before + n * kLanes, Full{}), dx * vset(a.b[t * a.b_row + n])),
          Full{});
  }
}

template <class M>
inline void scan_row_block(const ScanRowBlock& a, M m) {
  alignas(64) float s[kMaxStates * kLanes];
  for (int64_t n = 0; n < a.n_state; ++n)
    store(s + n * kLanes, a.state ? load(a.state + n * a.state_row, m) : vset(0), Full{});
  const Vf bias = load(a.bias, m), d = load(a.d, m);
  for (int64_t t = 0; t < a.rows; ++t) {
    fetch(a.x + (t + kRowsAhead) * a.x_row);
    fetch(a.dt + (t + kRowsAhead) * a.dt_row);
    if (a.z) fetch(a.z + (t + kRowsAhead) * a.z_row);
    fetch(a.y + (t + kRowsAhead) * a.y_row);
    const Vf delta = vsoftplus(load(a.dt + t * a.dt_row, m) + bias), x = load(a.x + t * a.x_row, m), dx = delta * x;
    const float *b = a.b + t * a.b_row, *c = a.c + t * a.c_row;
    const Vf delta2 = in_twos(delta);
    Vf y = d * x;
    for (int64_t n = 0; n < a.n_state; ++n) {
      const Vf keep_rate = vexp2_down(delta2 * load(a.a + n * a.a_row, m));
      const Vf v = fma(keep_rate, load(s + n * kLanes, Full{}), dx * vset(b[n]));
      store(s + n * kLanes, v, Full{});
      y = fma(v, vset(c[n]), y);
    }
    if (a.z) y = y * vsilu(load(a.z + t * a.z_row, m));
    store(a.y + t * a.y_row, y, m);
  }
  for (int64_t n = 0; a.state && n < a.n_state; ++n)
    store(a.state + n * a.state_row, load(s + n * kLanes, Full{}), m);
}

void scan_rows(const ScanRowBlock& a) {
  if (a.channels == kLanes)
    scan_row_block(a, Full{});
  else
    scan_row_block(a, PartialVec(a.channels));
}

// Checkpoints every kScanBlock tokens; then block by block from the end, states of a block made again, walking back.
template <class M>
inline void scan_row_block_backward(const ScanRowBlock& a, const ScanRowBlockBackward& o, M m) {
  const int64_t one = a.n_state * kLanes, blocks = (a.rows + kScanBlock - 1) / kScanBlock;
  float *checkpoints = o.kept, *states = o.kept + blocks * one;  // states[i]: before token i of the block
  const Vf bias = load(a.bias, m), d = load(a.d, m);
  auto delta_of = [&](int64_t t) { return vsoftplus(load(a.dt + t * a.dt_row, m) + bias); };
  auto forward = [&](int64_t t, const float* before, float* now) {
    const Vf delta = delta_of(t);
    advance(a, t, delta, before, now, m);
  };
  for (int64_t i = 0; i < one; ++i) checkpoints[i] = 0;
  for (int64_t k = 0; k + 1 < blocks; ++k) {
    float* to = checkpoints + (k + 1) * one;
    for (int64_t i = 0; i < one; ++i) to[i] = checkpoints[k * one + i];
    for (int64_t t = k * kScanBlock; t < (k + 1) * kScanBlock; ++t) forward(t, to, to);
  }
  alignas(64) float G[kMaxStates * kLanes];
  for (int64_t i = 0; i < one; ++i) G[i] = 0;
  Vf sum_d = vset(0), sum_bias = vset(0);
  for (int64_t k = blocks - 1; k >= 0; --k) {
    const int64_t first = k * kScanBlock, last = first + kScanBlock < a.rows ? first + kScanBlock : a.rows;
    for (int64_t i = 0; i < one; ++i) states[i] = checkpoints[k * one + i];
    for (int64_t t = first; t < last; ++t) forward(t, states + (t - first) * one, states + (t - first + 1) * one);
    for (int64_t t = last - 1; t >= first; --t) {
      const float *before = states + (t - first) * one, *now = before + one, *b = a.b + t * a.b_row,
                  *c = a.c + t * a.c_row;
      const Vf pre = load(a.dt + t * a.dt_row, m) + bias, delta = vsoftplus(pre), x = load(a.x + t * a.x_row, m),
               dx = delta * x;
      Vf dy = load(o.gy + t * o.gy_row, m);
      if (a.z) {
        Vf y = d * x;
        for (int64_t n = 0; n < a.n_state; ++n) y = fma(load(now + n * kLanes, Full{}), vset(c[n]), y);
        const Vf z = load(a.z + t * a.z_row, m), s = vsigmoid(z);
        store(o.gz + t * o.gz_row, dy * y * vsilu_slope(z, s), m);
        dy = dy * z * s;
      }
      const Vf delta2 = in_twos(delta);
      Vf gu = vset(0), g_delta = vset(0);  // of Δ·x, of Δ
      float *lb = o.lanes_b + t * one, *lc = o.lanes_c + t * one;
      for (int64_t n = 0; n < a.n_state; ++n) {
        const int64_t at = n * kLanes;
        const Vf A = load(a.a + n * a.a_row, m), rate = vexp2_down(delta2 * A);
        const Vf g = fma(dy, vset(c[n]), load(G + at, Full{})), grown = g * rate;
        const Vf ga = grown * load(before + at, Full{});
        store(lc + at, fma(dy, load(now + at, Full{}), load(lc + at, Full{})), Full{});
        store(lb + at, fma(g, dx, load(lb + at, Full{})), Full{});
        if (o.ga) store(o.ga + n * o.ga_row, fma(delta, ga, load(o.ga + n * o.ga_row, m)), m);
        g_delta = fma(A, ga, g_delta);
        gu = fma(g, vset(b[n]), gu);
        store(G + at, grown, Full{});
      }
      g_delta = fma(gu, x, g_delta);
      const Vf g_dt = g_delta * vsigmoid(pre);
      store(o.gx + t * o.gx_row, fma(gu, delta, d * dy), m);
      store(o.gdt + t * o.gdt_row, g_dt, m);
      sum_d = fma(dy, x, sum_d), sum_bias = sum_bias + g_dt;
    }
  }
  if (o.gd) store(o.gd, load(o.gd, m) + sum_d, m);
  if (o.gbias) store(o.gbias, load(o.gbias, m) + sum_bias, m);
}

void scan_rows_backward(const ScanRowBlock& a, const ScanRowBlockBackward& o) {
  if (a.channels == kLanes)
    scan_row_block_backward(a, o, Full{});
  else
    scan_row_block_backward(a, o, PartialVec(a.channels));
}

constexpr SsmTable kSsmTable = {kLanes,    gated_norm_rows,   gated_norm_backward_rows,
                                conv_rows, conv_slope_rows,   conv_input_rows,
                                scan_rows, scan_rows_backward};

}  // namespace
}  // namespace quern::kernels
