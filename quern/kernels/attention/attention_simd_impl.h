// attention_simd.h's table, written once over simd.h; KERNELS names the function to define.
#include "quern/kernels/attention/attention_simd.h"
#include "quern/kernels/gemm/simd.h"

namespace {

using namespace quern::kernels;

inline int64_t clamp(int64_t x, int64_t top_value) { return x < 0 ? 0 : x > top_value ? top_value : x; }

// 2^x. x = n + r with |r| ≤ ½; the polynomial is the minimax fit of degree 5, relative error 7.5e-8 (f32 rounds at
// 6e-8).
inline F exp2(F x) {
  if constexpr (kLanes == 8) x = max(x, set1(-126.0f));  // AVX2 builds the exponent by hand: stay with normal numbers
  F n = round_to_int(x), r = sub(x, n);
  F p = fma(r, set1(0.001327647178258956f), set1(0.00967554133279146f));
  p = fma(p, r, set1(0.05550713274147905f));
  p = fma(p, r, set1(0.240221197238815f));
  p = fma(p, r, set1(0.6931469670643648f));
  p = fma(p, r, set1(1.0000000716546729f));
  return times_power_of_2(p, n);
}

// Scores outside the row's columns [lo, hi) become kMasked.
inline void mask_row(float* s, int n, int64_t lo, int64_t hi) {
  for (int64_t j = 0; j < lo && j < n; ++j) s[j] = kMasked;
  for (int64_t j = hi; j < n; ++j) s[j] = kMasked;
}

void softmax(const SoftmaxTile& t) {
  int n = (t.columns + 15) / 16 * 16;
  for (int i = 0; i < t.rows; ++i) {
    float* s = t.s + i * t.s_row;
    int64_t lo = clamp(t.first + i * t.step, n), hi = clamp(t.end + i * t.step, n);
    if (lo > 0 || hi < n) mask_row(s, n, lo, hi);
    F best = load(s);
    for (int j = kLanes; j < n; j += kLanes) best = max(best, load(s + j));
    float old = t.m[i], now = top(best);
    now = now > old ? now : old;
    F shift = set1(now), total = zero();
    if (t.p) {
      uint16_t* p = t.p + i * t.p_row;
      for (int j = 0; j < n; j += kLanes) {
        F e = exp2(sub(load(s + j), shift));
        total = add(total, e);
        store_bf16(p + j, e);
      }
    } else {
      for (int j = 0; j < n; j += kLanes) {
        F e = exp2(sub(load(s + j), shift));
        total = add(total, e);
        store(s + j, e);
      }
    }
    if (now == old) {
      t.l[i] += sum(total);
      continue;
    }
    float c[kLanes];
    store(c, exp2(set1(old - now)));
    t.l[i] = t.l[i] * c[0] + sum(total);
    t.m[i] = now;
    F f = set1(c[0]);
    float* o = t.o + i * t.o_row;
    for (int j = 0; j < t.width; j += kLanes) store(o + j, mul(f, load(o + j)));
  }
}

void gradient(const GradientTile& t) {
  for (int i = 0; i < t.rows; ++i) {
    int64_t lo = clamp(t.first + i, 64), hi = clamp(t.end + i, 64);
    if (lo > 0 || hi < 64) mask_row(t.s + i * 64, 64, lo, hi);
  }
  for (int i = 0; i < t.rows; i += 2) {  // rows come in pairs: the driver pads them
    float *s0 = t.s + i * 64, *s1 = s0 + 64, *d0 = t.dp + i * 64, *d1 = d0 + 64;
    F lse0 = set1(t.lse2[i]), lse1 = set1(t.lse2[i + 1]), delta0 = set1(t.delta[i]), delta1 = set1(t.delta[i + 1]);
    for (int j = 0; j < 64; j += kLanes) {
      F p0 = exp2(sub(load(s0 + j), lse0)), p1 = exp2(sub(load(s1 + j), lse1));
      F g0 = mul(p0, sub(load(d0 + j), delta0)), g1 = mul(p1, sub(load(d1 + j), delta1));
      if (t.g16) {
        store_bf16(t.g16 + i * 64 + j, g0), store_bf16(t.g16 + (i + 1) * 64 + j, g1);
        storei(t.p_pairs + i / 2 * 64 + j, pair_up(p0, p1));
        storei(t.g_pairs + i / 2 * 64 + j, pair_up(g0, g1));
      } else {
        store(s0 + j, p0), store(s1 + j, p1);
        store(d0 + j, g0), store(d1 + j, g1);
      }
    }
  }
}

void scale(const float* x, float f, int64_t n, int64_t n_pad, float* y) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, mul(set1(f), load(x + i)));
  for (; i < n; ++i) y[i] = f * x[i];
  for (; i < n_pad; ++i) y[i] = 0;
}

void widen_row(const uint16_t* x, int64_t n, int64_t n_pad, float* y) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, widen(x + i));
  for (; i < n; ++i) {
    uint32_t u = uint32_t{x[i]} << 16;
    __builtin_memcpy(y + i, &u, sizeof u);
  }
  for (; i < n_pad; ++i) y[i] = 0;
}

void pair(const float* even, const float* odd, int64_t n, uint32_t* y) {
  for (int64_t i = 0; i < n; i += kLanes) storei(y + i, pair_up(load(even + i), load(odd + i)));
}

float dot(const float* a, const float* b, int64_t n) {
  F s = zero();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) s = fma(load(a + i), load(b + i), s);
  float r = sum(s);
  for (; i < n; ++i) r += a[i] * b[i];
  return r;
}

// R query rows × C keys: R·C accumulators share each register of k that was loaded.
template <int R, int C>
inline void scores_block(const float* q, int64_t q_row, const float* k, int64_t k_row, int64_t width, float* s,
                         int64_t s_row) {
  F acc[R][C];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) acc[i][j] = zero();
  for (int64_t d = 0; d < width; d += kLanes) {
    F w[C];
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) w[j] = load(k + j * k_row + d);
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      F x = load(q + i * q_row + d);
#pragma GCC unroll 4
      for (int j = 0; j < C; ++j) acc[i][j] = fma(x, w[j], acc[i][j]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) s[i * s_row + j] = sum(acc[i][j]);
}

template <int R>
void scores_rows(const float* q, int64_t q_row, const float* k, int64_t k_row, int64_t keys, int64_t width, float* s,
                 int64_t s_row) {
  constexpr int kKeys = kLanes == 16 ? 4 : 2;  // 4 × 4 accumulators of 32 registers, 4 × 2 of 16
  int64_t j = 0;
  for (; j + kKeys <= keys; j += kKeys) scores_block<R, kKeys>(q, q_row, k + j * k_row, k_row, width, s + j, s_row);
  for (; j < keys; ++j) scores_block<R, 1>(q, q_row, k + j * k_row, k_row, width, s + j, s_row);
}

void scores(const float* q, int64_t q_row, int rows, const float* k, int64_t k_row, int64_t keys, int64_t width,
            float* s, int64_t s_row) {
  int i = 0;
  for (; i + 4 <= rows; i += 4) scores_rows<4>(q + i * q_row, q_row, k, k_row, keys, width, s + i * s_row, s_row);
  q += i * q_row, s += i * s_row;
  if (rows - i == 3) scores_rows<3>(q, q_row, k, k_row, keys, width, s, s_row);
  if (rows - i == 2) scores_rows<2>(q, q_row, k, k_row, keys, width, s, s_row);
  if (rows - i == 1) scores_rows<1>(q, q_row, k, k_row, keys, width, s, s_row);
}

}  // namespace

namespace quern::kernels {
const AttentionKernels& KERNELS() {
  static constexpr AttentionKernels table{softmax, gradient, scale, widen_row, pair, dot, scores};
  return table;
}
}  // namespace quern::kernels
