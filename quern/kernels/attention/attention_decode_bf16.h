// Decode over a bf16 cache with bf16 products (vdpbf16ps): queries and probabilities are rounded to bf16, sums are
// f32. Half the instructions of widening the cache to f32, and a short query group is bound by instructions, not by
// memory. Included by attention_simd_impl.h, under AVX512-BF16 alone.
#pragma once

namespace {

constexpr int64_t kMostDecodeWidth = 1024;  // of a head; wider ones take the f32 way
constexpr int64_t kTileKeys = 64;

// 32 bf16 from p, or the 16 there are before the end of a row.
inline I load_bf16(const uint16_t* p, bool half) {
  return half ? _mm512_maskz_loadu_epi16(0xffff, p) : _mm512_loadu_si512(p);
}
inline F dp(F acc, I a, I b) { return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)b); }

inline void round_row(const float* x, int64_t n, uint16_t* y) {
  for (int64_t i = 0; i < n; i += kLanes) store_bf16(y + i, load(x + i));
}

template <int R, int C>
inline void scores_block_bf16(const uint16_t* q, int64_t d, const uint16_t* k, int64_t k_row, float* s,
                              int64_t s_row) {
  F acc[R][C];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) acc[i][j] = zero();
  for (int64_t at = 0; at < d; at += 32) {
    bool half = at + 16 == d;
    I w[C];
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) w[j] = load_bf16(k + j * k_row + at, half);
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      I x = load_bf16(q + i * kMostDecodeWidth + at, half);
#pragma GCC unroll 4
      for (int j = 0; j < C; ++j) acc[i][j] = dp(acc[i][j], x, w[j]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i) {
    if constexpr (C == 4)
      _mm_storeu_ps(s + i * s_row, sums(acc[i][0], acc[i][1], acc[i][2], acc[i][3]));
    else
      s[i * s_row] = sum(acc[i][0]);
  }
}

template <int R>
void scores_rows_bf16(const DecodeTile& t, int row) {
  alignas(64) uint16_t q[R * kMostDecodeWidth];
  for (int i = 0; i < R; ++i) round_row(t.q + (row + i) * t.q_row, t.d, q + i * kMostDecodeWidth);
  const uint16_t* k = static_cast<const uint16_t*>(t.k);
  float* s = t.s + row * t.s_row;
  int64_t j = 0;
  for (; j + 4 <= t.keys; j += 4) {
    if (row == 0)
      for (int64_t a = j; a < j + 4; ++a) fetch_row(k + (a + kFetchAhead) * t.k_row, t.d);
    scores_block_bf16<R, 4>(q, t.d, k + j * t.k_row, t.k_row, s + j, t.s_row);
  }
  for (; j < t.keys; ++j) scores_block_bf16<R, 1>(q, t.d, k + j * t.k_row, t.k_row, s + j, t.s_row);
}

// o += p·v for R rows and 32·C columns (the last block may be half). Two keys a step: their rows are interleaved,
// which leaves a block's columns as [0–3 8–11 16–19 24–27] and [4–7 12–15 20–23 28–31].
template <int R, int C>
inline void values_block_bf16(const DecodeTile& t, const uint32_t* p, int row, int64_t column, bool half) {
  const uint16_t* v = static_cast<const uint16_t*>(t.v) + column;
  float* o = t.o + row * t.o_row + column;
  F acc[R][2 * C];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c) {
      F a = load(o + i * t.o_row + 32 * c), b = half ? zero() : load(o + i * t.o_row + 32 * c + 16);
      acc[i][2 * c] = _mm512_shuffle_f32x4(a, b, 0x88);
      acc[i][2 * c + 1] = _mm512_shuffle_f32x4(a, b, 0xdd);
    }
  for (int64_t j = 0; j < t.keys; j += 2) {
    if (row == 0) {
      fetch_row(v + (j + kFetchAhead) * t.v_row, 32 * C);
      fetch_row(v + (j + 1 + kFetchAhead) * t.v_row, 32 * C);
    }
    I w[2 * C];
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c) {
      I a = load_bf16(v + j * t.v_row + 32 * c, half);
      I b = j + 1 < t.keys ? load_bf16(v + (j + 1) * t.v_row + 32 * c, half) : _mm512_setzero_si512();
      w[2 * c] = _mm512_unpacklo_epi16(a, b);
      w[2 * c + 1] = _mm512_unpackhi_epi16(a, b);
    }
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      I x = set1i(p[i * kTileKeys / 2 + j / 2]);
#pragma GCC unroll 4
      for (int c = 0; c < 2 * C; ++c) acc[i][c] = dp(acc[i][c], x, w[c]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c) {
      F lo = acc[i][2 * c], hi = acc[i][2 * c + 1];
      F a = _mm512_shuffle_f32x4(lo, hi, 0x44), b = _mm512_shuffle_f32x4(lo, hi, 0xee);
      store(o + i * t.o_row + 32 * c, _mm512_shuffle_f32x4(a, a, 0xd8));
      if (!half) store(o + i * t.o_row + 32 * c + 16, _mm512_shuffle_f32x4(b, b, 0xd8));
    }
}

template <int R>
void values_rows_bf16(const DecodeTile& t, int row) {
  alignas(64) uint32_t p[R * kTileKeys / 2];  // probabilities in pairs of keys; past the last key they are zero
  for (int i = 0; i < R; ++i)
    round_row(t.s + (row + i) * t.s_row, (t.keys + 15) / 16 * 16, reinterpret_cast<uint16_t*>(p + i * kTileKeys / 2));
  int64_t c = 0;
  for (; c + 64 <= t.dv; c += 64) values_block_bf16<R, 2>(t, p, row, c, false);
  for (; c < t.dv; c += 32) values_block_bf16<R, 1>(t, p, row, c, c + 16 == t.dv);
}

}  // namespace
