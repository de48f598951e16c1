// Decode over a bf16 KV cache with bf16 products (vdpbf16ps): queries and probabilities are rounded to bf16, sums are
// f32. Half the instructions of converting the cache to f32. Keys and values are read sequentially, a few keys at a
// time for all rows and columns: the hardware prefetcher then never pauses, and no pass over cached keys leaves memory
// idle. Included by attention_simd_impl.h, under AVX512-BF16 only.
#pragma once
#include <cstdint>

namespace {

constexpr int64_t kStepKeys = 8;  // of values; in between the sums of other rows and columns are loaded and stored

// Three and four rows compute for about as long as their keys take to come: far enough ahead, fetching by software
// hides the rest. Fewer rows are bound by memory alone and more by products; there it costs more than it brings.
inline bool fetches_ahead(const DecodeTile& t) { return t.rows == 3 || t.rows == 4; }

// 32 bf16 from p, or the 16 there are before the end of a row.
inline I load_bf16(const uint16_t* p, bool half) {
  return half ? _mm512_maskz_loadu_epi16(0xffff, p) : _mm512_loadu_si512(p);
}
inline F dp(F acc, I a, I b) { return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)b); }

inline void round_row(const float* x, int64_t n, uint16_t* y) {
  for (int64_t i = 0; i < n; i += kLanes) store_bf16(y + i, load(x + i));
}

// The sums of 16 registers, in order.
inline F sums(const F* x) {
  F four[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // per 128 bits the sums of four registers
    const F *a = x + 4 * i, *b = a + 1, *c = a + 2, *d = a + 3;
    F ab = add(_mm512_unpacklo_ps(*a, *b), _mm512_unpackhi_ps(*a, *b)),
      cd = add(_mm512_unpacklo_ps(*c, *d), _mm512_unpackhi_ps(*c, *d));
    four[i] = add(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xee));
  }
  F lo = add(_mm512_shuffle_f32x4(four[0], four[1], 0x44), _mm512_shuffle_f32x4(four[0], four[1], 0xee)),
    hi = add(_mm512_shuffle_f32x4(four[2], four[3], 0x44), _mm512_shuffle_f32x4(four[2], four[3], 0xee));
  return add(_mm512_shuffle_f32x4(lo, hi, 0x88), _mm512_shuffle_f32x4(lo, hi, 0xdd));
}

// R rows × K keys = 16 scores (12 for three rows).
template <int R, int K>
inline void scores_block_bf16(const uint16_t* q, int64_t d, const uint16_t* k, int64_t k_row, float* s,
                              int64_t s_row) {
  F acc[16];
#pragma GCC unroll 16
  for (F& a : acc) a = zero();
#pragma GCC unroll 16
  for (int j = 0; j < K; ++j)
    for (int64_t at = 0; at < d; at += 32) {
      bool half = at + 16 == d;
      I w = load_bf16(k + j * k_row + at, half);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) acc[i * K + j] = dp(acc[i * K + j], w, load_bf16(q + i * d + at, half));
    }
  alignas(64) float all[16];
  store(all, sums(acc));
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i) __builtin_memcpy(s + i * s_row, all + i * K, K * sizeof(float));
}

void scores_bf16(const DecodeTile& t) {
  alignas(64) uint16_t q[kMaxDecodeRows * kMaxDecodeWidth];
  for (int i = 0; i < t.rows; ++i) round_row(t.q + i * t.q_row, t.d, q + i * t.d);
  const uint16_t* k = static_cast<const uint16_t*>(t.k);
  int64_t j = 0;
  auto block = [&]<int R, int K>(int i) {
    scores_block_bf16<R, K>(q + i * t.d, t.d, k + j * t.k_row, t.k_row, t.s + i * t.s_row + j, t.s_row);
  };
  if (t.rows == 1)
    for (; j + 16 <= t.keys; j += 16) block.template operator()<1, 16>(0);
  if (t.rows == 2)
    for (; j + 8 <= t.keys; j += 8) block.template operator()<2, 8>(0);
  for (; j + 4 <= t.keys; j += 4) {
    for (int64_t a = j; fetches_ahead(t) && a < j + 4; ++a) fetch_row(k + (a + kFetchAhead) * t.k_row, t.d);
    in_row_blocks(t.rows, [&]<int R>(int i) { block.template operator()<R, 4>(i); });
  }
  for (; j < t.keys; ++j) in_row_blocks(t.rows, [&]<int R>(int i) { block.template operator()<R, 1>(i); });
}

// o += p·v for R rows, 32·C columns (the last 32 may be half) and keys [begin, end), two at a time: their rows are
// interleaved, which leaves 32 columns as [0–3 8–11 16–19 24–27] and [4–7 12–15 20–23 28–31].
struct ValuesBlock {
  int row;
  int64_t column;
  bool half = false;
  int64_t begin, end;
  bool fetch;  // in this pass over the keys
};
template <int R, int C>
inline void values_block_bf16(const DecodeTile& t, const uint32_t* p, int64_t p_row, ValuesBlock part) {
  const uint16_t* v = static_cast<const uint16_t*>(t.v);
  float* o = t.o + part.row * t.o_row + part.column;
  F acc[R][2 * C];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 5
    for (int c = 0; c < C; ++c) {
      F a = load(o + i * t.o_row + 32 * c), b = part.half ? zero() : load(o + i * t.o_row + 32 * c + 16);
      acc[i][2 * c] = _mm512_shuffle_f32x4(a, b, 0x88);
      acc[i][2 * c + 1] = _mm512_shuffle_f32x4(a, b, 0xdd);
    }
  for (int64_t j = part.begin; j < part.end; j += 2) {
    const uint16_t *even = v + j * t.v_row, *odd = even + t.v_row;
    if (part.fetch && fetches_ahead(t)) {
      fetch_row(even + kFetchAhead * t.v_row, t.dv);
      fetch_row(odd + kFetchAhead * t.v_row, t.dv);
    } else if (part.fetch) {  // the columns of other passes, in their place in the walk
      fetch_near(even, t.dv);
      fetch_near(odd, t.dv);
    }
    even += part.column, odd += part.column;
    I w[2 * C];
#pragma GCC unroll 5
    for (int c = 0; c < C; ++c) w[c] = load_bf16(even + 32 * c, part.half);
#pragma GCC unroll 5
    for (int c = C - 1; c >= 0; --c) {
      I a = w[c], b = j + 1 < part.end ? load_bf16(odd + 32 * c, part.half) : _mm512_setzero_si512();
      w[2 * c] = _mm512_unpacklo_epi16(a, b);
      w[2 * c + 1] = _mm512_unpackhi_epi16(a, b);
    }
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      I x = set1i(p[(part.row + i) * p_row + j / 2]);
#pragma GCC unroll 10
      for (int c = 0; c < 2 * C; ++c) acc[i][c] = dp(acc[i][c], w[c], x);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 5
    for (int c = 0; c < C; ++c) {
      F lo = acc[i][2 * c], hi = acc[i][2 * c + 1];
      F a = _mm512_shuffle_f32x4(lo, hi, 0x44), b = _mm512_shuffle_f32x4(lo, hi, 0xee);
      store(o + i * t.o_row + 32 * c, _mm512_shuffle_f32x4(a, a, 0xd8));
      if (!part.half) store(o + i * t.o_row + 32 * c + 16, _mm512_shuffle_f32x4(b, b, 0xd8));
    }
}

void values_bf16(const DecodeTile& t) {
  alignas(64) uint32_t p[kMaxDecodeRows * kDecodeKeys / 2];  // probabilities in pairs of keys; past the last key zero
  int64_t keys = (t.keys + 15) / 16 * 16;
  for (int i = 0; i < t.rows; ++i) round_row(t.s + i * t.s_row, keys, reinterpret_cast<uint16_t*>(p + i * keys / 2));
  auto pass = [&](int64_t begin, int64_t end) {
    bool fetch = end - begin < t.keys;
    int64_t c = 0;
    auto columns = [&]<int C>(bool half) {
      in_row_blocks(t.rows, [&]<int R>(int i) {
        values_block_bf16<R, C>(
            t, p, keys / 2,
            {.row = i, .column = c, .half = half, .begin = begin, .end = end, .fetch = fetch && c == 0 && i == 0});
      });
      c += 32 * C;
    };
    auto alone = [&]<int C>() {  // one row has registers for more columns
      values_block_bf16<1, C>(t, p, keys / 2,
                              {.row = 0, .column = c, .begin = begin, .end = end, .fetch = fetch && c == 0});
      c += 32 * C;
    };
    if (t.rows == 1) {
      while (c + 160 <= t.dv) alone.template operator()<5>();
      while (c + 128 <= t.dv) alone.template operator()<4>();
    }
    while (c + 64 <= t.dv) columns.template operator()<2>(false);
    while (c < t.dv) columns.template operator()<1>(c + 16 == t.dv);
  };
  if (t.rows == 1 && (t.dv == 160 || t.dv == 128)) return pass(0, t.keys);
  for (int64_t j = 0; j < t.keys; j += kStepKeys) pass(j, j + kStepKeys < t.keys ? j + kStepKeys : t.keys);
}

}  // namespace
