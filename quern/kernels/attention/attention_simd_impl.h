// attention_simd.h's table, written once over simd.h; KERNELS names the function to define.
#include "quern/kernels/attention/attention_simd.h"
#include "quern/kernels/gemm/simd.h"

namespace {

using namespace quern::kernels;

// As many bytes as there are lanes.
inline F widen_bytes(const int8_t* p) {
#if defined(__AVX512F__)
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p)));
#else
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p)));
#endif
}

inline int64_t clamp(int64_t x, int64_t top_value) { return x < 0 ? 0 : x > top_value ? top_value : x; }

// 2^x. x = n + r with |r| ≤ ½; the polynomial is the minimax fit of degree 5, relative error 7.5e-8 (f32 rounds at
// 6e-8).
inline F exp2(F x) {
  // AVX2 builds the exponent by hand: stay with normal numbers (and in this order of operands a NaN stays one).
  if constexpr (kLanes == 8) x = max(set1(-126.0f), x);
  F n = round_to_int(x), r = sub(x, n);
  F p = fma(r, set1(0.001327647178258956f), set1(0.00967554133279146f));
  p = fma(p, r, set1(0.05550713274147905f));
  p = fma(p, r, set1(0.240221197238815f));
  p = fma(p, r, set1(0.6931469670643648f));
  p = fma(p, r, set1(1.0000000716546729f));
  return times_power_of_2(p, n);
}

// Scores outside the row's columns [lo, hi) become kMasked.
inline void mask_row(float* s, int64_t group, int n, int64_t lo, int64_t hi) {
  for (int64_t j = 0; j < lo && j < n; ++j) s[j / 16 * group + j % 16] = kMasked;
  for (int64_t j = hi; j < n; ++j) s[j / 16 * group + j % 16] = kMasked;
}

void softmax(const SoftmaxTile& t) {
  int n = (t.columns + 15) / 16 * 16;
  for (int i = 0; i < t.rows; ++i) {
    float* s = t.s + i * t.s_row;
    const auto at = [&](int j) { return s + j / 16 * t.s_group + j % 16; };
    int64_t lo = clamp(t.first + i * t.step, n), hi = clamp(clamp(t.end + i * t.step, t.limit), n);
    if (lo > 0 || hi < n) mask_row(s, t.s_group, n, lo, hi);
    F best = load(s);
    for (int j = kLanes; j < n; j += kLanes) best = max(best, load(at(j)));
    float old = t.m[i], now = top(best);
    now = now > old ? now : old;
    F shift = set1(now), total = zero();
    if (t.p) {
      uint16_t* p = t.p + i * t.p_row;
      for (int j = 0; j < n; j += kLanes) {
        F e = exp2(sub(load(at(j)), shift));
        total = add(total, e);
        store_bf16(p + j / 32 * t.p_group + j % 32, e);
      }
    } else {
      for (int j = 0; j < n; j += kLanes) {
        F e = exp2(sub(load(at(j)), shift));
        total = add(total, e);
        store(at(j), e);
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
    for (int j = 0; j < t.width; j += kLanes) {
      float* o = t.o + i * t.o_row + j / 16 * t.o_group + j % 16;
      store(o, mul(f, load(o)));
    }
  }
}

void gradient(const GradientTile& t) {
  for (int i = 0; i < t.rows; ++i) {
    int64_t lo = clamp(t.first + i, 64), hi = clamp(t.end + i, 64);
    if (lo > 0 || hi < 64) mask_row(t.s + i * t.row, t.group, 64, lo, hi);
  }
  for (int i = 0; i < t.rows; i += 2) {  // rows come in pairs: the driver pads them
    F lse0 = set1(t.lse2[i]), lse1 = set1(t.lse2[i + 1]), delta0 = set1(t.delta[i]), delta1 = set1(t.delta[i + 1]);
    for (int j = 0; j < 64; j += kLanes) {
      const int64_t at = i * t.row + j / 16 * t.group + j % 16;
      float *s0 = t.s + at, *s1 = s0 + t.row, *d0 = t.dp + at, *d1 = d0 + t.row;
      F p0 = exp2(sub(load(s0), lse0)), p1 = exp2(sub(load(s1), lse1));
      F g0 = mul(p0, sub(load(d0), delta0)), g1 = mul(p1, sub(load(d1), delta1));
      if (t.g16) {
        store_bf16(t.g16 + i * 64 + j, g0), store_bf16(t.g16 + (i + 1) * 64 + j, g1);
        storei(t.p_pairs + i / 2 * 64 + j, pair_up(p0, p1));
        storei(t.g_pairs + i / 2 * 64 + j, pair_up(g0, g1));
      } else {
        store(s0, p0), store(s1, p1);
        store(d0, g0), store(d1, g1);
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

void widen_q8_row(const int8_t* x, float f, int64_t n, int64_t n_pad, float* y) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, mul(set1(f), widen_bytes(x + i)));
  for (; i < n; ++i) y[i] = f * static_cast<float>(x[i]);
  for (; i < n_pad; ++i) y[i] = 0;
}

float dot(const float* a, const float* b, int64_t n) {
  F s = zero();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) s = fma(load(a + i), load(b + i), s);
  float r = sum(s);
  for (; i < n; ++i) r += a[i] * b[i];
  return r;
}

inline F load_as_float(const float* p) { return load(p); }
inline F load_as_float(const uint16_t* p) { return widen(p); }

template <class K>
inline void fetch_row(const K* row, int64_t n) {
  const char* p = reinterpret_cast<const char*>(row);
  for (int64_t at = 0; at < n * static_cast<int64_t>(sizeof(K)); at += 64) _mm_prefetch(p + at, _MM_HINT_T1);
}
inline void fetch_near(const uint16_t* row, int64_t n) {
  for (int64_t at = 0; at < n; at += 32) _mm_prefetch(reinterpret_cast<const char*>(row + at), _MM_HINT_T0);
}

// The sums of four registers, in order.
inline __m128 sums(F a, F b, F c, F d) {
#if defined(__AVX512F__)
  auto half = [](F x) { return _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)); };
  __m256 w = half(a), x = half(b), y = half(c), z = half(d);
#else
  __m256 w = a, x = b, y = c, z = d;
#endif
  __m256 s = _mm256_hadd_ps(_mm256_hadd_ps(w, x), _mm256_hadd_ps(y, z));
  return _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
}

constexpr int kDecodeRows = kLanes == 16 ? 4 : 2;  // × 4 keys or 4 columns: 16 accumulators of 32, 8 of 16

// R query rows × C keys: every register of k that was loaded serves R rows.
template <int R, int C, class K>
inline void scores_block(const DecodeTile& t, const float* q, const K* k, float* s) {
  F acc[R][C];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) acc[i][j] = zero();
  for (int64_t d = 0; d < t.d; d += kLanes) {
    F w[C];
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) w[j] = load_as_float(k + j * t.k_row + d);
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      F x = load(q + i * t.q_row + d);
#pragma GCC unroll 4
      for (int j = 0; j < C; ++j) acc[i][j] = fma(x, w[j], acc[i][j]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i) {
    if constexpr (C == 4)
      _mm_storeu_ps(s + i * t.s_row, sums(acc[i][0], acc[i][1], acc[i][2], acc[i][3]));
    else
      s[i * t.s_row] = _mm_cvtss_f32(sums(acc[i][0], zero(), zero(), zero()));  // in the order of four keys
  }
}

template <int R, class K>
void scores_rows(const DecodeTile& t, int row) {
  const K* k = static_cast<const K*>(t.k);
  const float* q = t.q + row * t.q_row;
  float* s = t.s + row * t.s_row;
  int64_t j = 0;
  for (; j + 4 <= t.keys; j += 4) {
    if (row == 0)
      for (int64_t a = j; a < j + 4; ++a) fetch_row(k + (a + kFetchAhead) * t.k_row, t.d);
    scores_block<R, 4>(t, q, k + j * t.k_row, s + j);
  }
  for (; j < t.keys; ++j) scores_block<R, 1>(t, q, k + j * t.k_row, s + j);
}

template <int R, int C, class V>
inline void values_block(const DecodeTile& t, int row, int64_t column) {
  const V* v = static_cast<const V*>(t.v) + column;
  const float* s = t.s + row * t.s_row;
  float* o = t.o + row * t.o_row + column;
  F acc[R][C];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) acc[i][c] = load(o + i * t.o_row + c * kLanes);
  for (int64_t j = 0; j < t.keys; ++j) {
    if (row == 0) fetch_row(v + (j + kFetchAhead) * t.v_row, C * kLanes);
    F w[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) w[c] = load_as_float(v + j * t.v_row + c * kLanes);
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      F p = set1(s[i * t.s_row + j]);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) acc[i][c] = fma(p, w[c], acc[i][c]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) store(o + i * t.o_row + c * kLanes, acc[i][c]);
}

template <int R, class V>
void values_rows(const DecodeTile& t, int row) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= t.dv; c += 4 * kLanes) values_block<R, 4, V>(t, row, c);
  for (; c < t.dv; c += kLanes) values_block<R, 1, V>(t, row, c);
}

template <class F1>
inline void in_row_blocks(int rows, F1&& block) {
  int i = 0;
  for (; i + kDecodeRows <= rows; i += kDecodeRows) block.template operator()<kDecodeRows>(i);
  if constexpr (kDecodeRows == 4) {
    if (rows - i == 3) return block.template operator()<3>(i);
    if (rows - i == 2) return block.template operator()<2>(i);
  }
  if (rows - i == 1) block.template operator()<1>(i);
}

}  // namespace

#include "quern/kernels/attention/attention_decode_q8.h"
#if defined(__AVX512BF16__)
#include "quern/kernels/attention/attention_decode_bf16.h"
#endif

namespace {

void scores(const DecodeTile& t) {
  if (t.k_rows == CacheRows::q8) return scores_q8(t);
  const bool bf16 = t.k_rows == CacheRows::bf16;
#if defined(__AVX512BF16__)
  if (t.bf16_math && bf16 && t.d <= kMaxDecodeWidth && t.rows <= kMaxDecodeRows) return scores_bf16(t);
#endif
  in_row_blocks(t.rows, [&]<int R>(int i) { bf16 ? scores_rows<R, uint16_t>(t, i) : scores_rows<R, float>(t, i); });
}

void values(const DecodeTile& t) {
  if (t.v_rows == CacheRows::q8) return values_q8(t);
  const bool bf16 = t.v_rows == CacheRows::bf16;
#if defined(__AVX512BF16__)
  if (t.bf16_math && bf16 && t.rows <= kMaxDecodeRows) return values_bf16(t);
#endif
  in_row_blocks(t.rows, [&]<int R>(int i) { bf16 ? values_rows<R, uint16_t>(t, i) : values_rows<R, float>(t, i); });
}

}  // namespace

namespace quern::kernels {
const AttentionKernels& KERNELS() {
  static constexpr AttentionKernels table{softmax, gradient, scale, widen_row, widen_q8_row, dot, scores, values};
  return table;
}
}  // namespace quern::kernels
