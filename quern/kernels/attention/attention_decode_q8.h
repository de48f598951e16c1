// Decode over an int8 KV cache in integer arithmetic: queries and probabilities get 16 bits (relative to the largest
// of a query, or of 64 keys' probabilities, so that an error is at most a 65534th of it), bytes of the cache are
// widened to 16, and pairs of products are summed exactly in 32 bits; f32 scales are applied last.
//   s_j = S_q·S_kj · Σ q16·k_j      o += S_p · Σ_j p16_j·v_j,  p16 of p_j·S_vj
// No sum overflows: 512 · 127 · 32767 < 2^31. Included by attention_simd_impl.h, for every instruction set.
#pragma once
#include <cstdint>

namespace {

constexpr int kWords = 2 * kLanes;      // 16-bit numbers of a register
constexpr int64_t kBytes = 4 * kLanes;  // columns that four rows of values are interleaved at a time
constexpr int64_t kKeysOfScale = 64;    // keys whose probabilities have one scale
constexpr float kMax16 = 32767;

#if defined(__AVX512F__)
inline I zeroi() { return _mm512_setzero_si512(); }
// The register's words from as many bytes, or from the 16 there are before the end of a row.
inline I load_words(const int8_t* p, int64_t left) {
  if (left >= kWords) return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)p));
  return _mm512_cvtepi8_epi16(_mm256_zextsi128_si256(_mm_loadu_si128((const __m128i*)p)));
}
inline I load_bytes(const int8_t* p, int64_t n) {
  return n >= kBytes ? loadi(p) : _mm512_maskz_loadu_epi8(_cvtu64_mask64((uint64_t{1} << n) - 1), p);
}
inline I dot_pairs(I acc, I a, I b) {
#if defined(__AVX512VNNI__)
  return _mm512_dpwssd_epi32(acc, a, b);
#else
  return _mm512_add_epi32(acc, _mm512_madd_epi16(a, b));
#endif
}
inline I low_bytes(I a, I b) { return _mm512_unpacklo_epi8(a, b); }
inline I high_bytes(I a, I b) { return _mm512_unpackhi_epi8(a, b); }
inline I low_words(I a, I b) { return _mm512_unpacklo_epi16(a, b); }
inline I high_words(I a, I b) { return _mm512_unpackhi_epi16(a, b); }
inline I odd_bytes(I x) { return _mm512_srai_epi16(x, 8); }
inline I even_bytes(I x) { return _mm512_srai_epi16(_mm512_slli_epi16(x, 8), 8); }
inline F as_float(I x) { return _mm512_cvtepi32_ps(x); }
inline I whole(F x) { return _mm512_cvtps_epi32(x); }
inline F magnitude(F x) { return _mm512_abs_ps(x); }
inline void store_words(int16_t* p, I x) { _mm256_storeu_si256((__m256i*)p, _mm512_cvtepi32_epi16(x)); }
// Of every four numbers (a b c d): a with c and b with d as words of one, first.
inline I pair_words(I x) {
  return _mm512_or_si512(x, _mm512_slli_epi32(_mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0xee), 16));
}
// y[i] has the columns 16·lane + 4·i …; in order of columns.
inline void in_order(I* y) {
  I a = _mm512_shuffle_i32x4(y[0], y[1], 0x44), b = _mm512_shuffle_i32x4(y[2], y[3], 0x44),
    c = _mm512_shuffle_i32x4(y[0], y[1], 0xee), d = _mm512_shuffle_i32x4(y[2], y[3], 0xee);
  y[0] = _mm512_shuffle_i32x4(a, b, 0x88), y[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
  y[2] = _mm512_shuffle_i32x4(c, d, 0x88), y[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
}
constexpr int kSums = 16;  // registers whose sums are made together
inline void store_sums(const I* x, float* to) {
  I four[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // per 128 bits the sums of four registers
    const I *a = x + 4 * i, *b = a + 1, *c = a + 2, *d = a + 3;
    I ab = _mm512_add_epi32(_mm512_unpacklo_epi32(*a, *b), _mm512_unpackhi_epi32(*a, *b)),
      cd = _mm512_add_epi32(_mm512_unpacklo_epi32(*c, *d), _mm512_unpackhi_epi32(*c, *d));
    four[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  }
  I lo = _mm512_add_epi32(_mm512_shuffle_i32x4(four[0], four[1], 0x44), _mm512_shuffle_i32x4(four[0], four[1], 0xee)),
    hi = _mm512_add_epi32(_mm512_shuffle_i32x4(four[2], four[3], 0x44), _mm512_shuffle_i32x4(four[2], four[3], 0xee));
  store(to, as_float(_mm512_add_epi32(_mm512_shuffle_i32x4(lo, hi, 0x88), _mm512_shuffle_i32x4(lo, hi, 0xdd))));
}
#else
inline I zeroi() { return _mm256_setzero_si256(); }
inline I load_words(const int8_t* p, int64_t) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)p)); }
inline I load_bytes(const int8_t* p, int64_t n) {
  return n >= kBytes ? loadi(p) : _mm256_zextsi128_si256(_mm_loadu_si128((const __m128i*)p));
}
inline I dot_pairs(I acc, I a, I b) { return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b)); }
inline I low_bytes(I a, I b) { return _mm256_unpacklo_epi8(a, b); }
inline I high_bytes(I a, I b) { return _mm256_unpackhi_epi8(a, b); }
inline I low_words(I a, I b) { return _mm256_unpacklo_epi16(a, b); }
inline I high_words(I a, I b) { return _mm256_unpackhi_epi16(a, b); }
inline I odd_bytes(I x) { return _mm256_srai_epi16(x, 8); }
inline I even_bytes(I x) { return _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8); }
inline F as_float(I x) { return _mm256_cvtepi32_ps(x); }
inline I whole(F x) { return _mm256_cvtps_epi32(x); }
inline F magnitude(F x) { return _mm256_andnot_ps(set1(-0.0f), x); }
inline void store_words(int16_t* p, I x) {
  _mm_storeu_si128((__m128i*)p, _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)));
}
inline I pair_words(I x) { return _mm256_or_si256(x, _mm256_slli_epi32(_mm256_shuffle_epi32(x, 0xee), 16)); }
inline void in_order(I* y) {
  I a = _mm256_permute2x128_si256(y[0], y[1], 0x20), b = _mm256_permute2x128_si256(y[2], y[3], 0x20),
    c = _mm256_permute2x128_si256(y[0], y[1], 0x31), d = _mm256_permute2x128_si256(y[2], y[3], 0x31);
  y[0] = a, y[1] = b, y[2] = c, y[3] = d;
}
constexpr int kSums = 8;
inline void store_sums(const I* x, float* to) {
#pragma GCC unroll 2
  for (int i = 0; i < kSums; i += 4) {
    I s = _mm256_hadd_epi32(_mm256_hadd_epi32(x[i], x[i + 1]), _mm256_hadd_epi32(x[i + 2], x[i + 3]));
    _mm_storeu_ps(to + i, _mm_cvtepi32_ps(_mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1))));
  }
}
#endif

// What n numbers (at(i): the register from the i-th on) are divided by to fit 16 bits: put(i, whole numbers). An
// infinity or a NaN makes it NaN.
template <class At, class Put>
inline float to_16_bits(int64_t n, At&& at, Put&& put) {
  F maximum = zero(), bad = zero();
  for (int64_t i = 0; i < n; i += kLanes) {
    F x = at(i);
    maximum = max(maximum, magnitude(x));
    bad = add(bad, sub(x, x));
  }
  float largest = top(maximum);
  F f = set1(largest > 1e-33f ? kMax16 / largest : 0);  // below, a reciprocal overflows
  for (int64_t i = 0; i < n; i += kLanes) put(i, whole(mul(f, at(i))));
  return largest / kMax16 + sum(bad);
}

// From three rows on products take about as long as keys take to come, and fetching hides the rest; fewer rows are
// bound by memory alone, where it costs more than it brings. Twice as many keys are on their way as of wider rows.
constexpr int64_t kFetchBytesAhead = 2 * kFetchAhead;
inline bool fetches_q8(const DecodeTile& t) { return t.rows >= 3; }

// R rows × K keys, at most kSums scores.
struct ScoresBlockQ8 {
  const int16_t* q;
  int64_t q_row, d;
  const int8_t* k;
  int64_t k_row;
  float* s;
  int64_t s_row;
};
template <int R, int K>
inline void scores_block_q8(ScoresBlockQ8 part) {
  I acc[kSums];
#pragma GCC unroll 16
  for (I& a : acc) a = zeroi();
  if constexpr (R > 2) {  // a query's register serves all keys: loads would be the bound
    for (int64_t at = 0; at < part.d; at += kWords) {
      I x[R];
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) x[i] = loadi(part.q + i * part.q_row + at);
#pragma GCC unroll 4
      for (int j = 0; j < K; ++j) {
        I w = load_words(part.k + j * part.k_row + at, part.d - at);
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) acc[i * K + j] = dot_pairs(acc[i * K + j], w, x[i]);
      }
    }
  } else {  // in the order in which keys lie
#pragma GCC unroll 16
    for (int j = 0; j < K; ++j)
      for (int64_t at = 0; at < part.d; at += kWords) {
        I w = load_words(part.k + j * part.k_row + at, part.d - at);
#pragma GCC unroll 2
        for (int i = 0; i < R; ++i)
          acc[i * K + j] = dot_pairs(acc[i * K + j], w, loadi(part.q + i * part.q_row + at));
      }
  }
  alignas(64) float all[kSums];
  store_sums(acc, all);
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i) __builtin_memcpy(part.s + i * part.s_row, all + i * K, K * sizeof(float));
}

void scores_q8(const DecodeTile& t) {
  alignas(64) int16_t q[kMaxDecodeRows * kMaxDecodeWidth];
  float q_scale[kMaxDecodeRows];
  const int64_t q_row = (t.d + kWords - 1) / kWords * kWords;
  for (int i = 0; i < t.rows; ++i) {
    int16_t* to = q + i * q_row;
    for (int64_t at = t.d; at < q_row; ++at) to[at] = 0;
    q_scale[i] = to_16_bits(
        t.d, [&](int64_t at) { return load(t.q + i * t.q_row + at); },
        [&](int64_t at, I x) { store_words(to + at, x); });
  }
  const int8_t* k = static_cast<const int8_t*>(t.k);
  int64_t j = 0;
  auto blocks = [&]<int K>() {
    for (; j + K <= t.keys; j += K) {
      for (int64_t a = j; fetches_q8(t) && a < j + K; ++a) fetch_row(k + (a + kFetchBytesAhead) * t.k_row, t.d);
      in_row_blocks(t.rows, [&]<int R>(int i) {
        if constexpr (R * K <= kSums)
          scores_block_q8<R, K>({.q = q + i * q_row,
                                 .q_row = q_row,
                                 .d = t.d,
                                 .k = k + j * t.k_row,
                                 .k_row = t.k_row,
                                 .s = t.s + i * t.s_row + j,
                                 .s_row = t.s_row});
      });
    }
  };
  if (t.rows == 1) blocks.template operator()<kSums>();
  if (t.rows == 2) blocks.template operator()<kSums / 2>();
  blocks.template operator()<4>();
  blocks.template operator()<1>();
  for (int i = 0; i < t.rows; ++i) {
    const F f = set1(q_scale[i]);
    float* s = t.s + i * t.s_row;
    for (j = 0; j < t.keys; j += kLanes) store(s + j, mul(mul(f, load(t.k_scale + j)), load(s + j)));
  }
}

// Two probabilities, where pair_words left them.
inline I pair_at(const float* s) {
  uint32_t x = 0;
  __builtin_memcpy(&x, s, sizeof x);
  return set1i(x);
}

// o += scale·p16·v for R rows, C · kBytes columns (of the last, `left` are there) and keys [begin, end), four at a
// time: their bytes are interleaved, so that every 32 bits have one column, and cut into pairs of words.
struct ValuesBlockQ8 {
  int row;
  int64_t column, left, begin, end;
};
template <int R, int C>
inline void values_block_q8(const DecodeTile& t, ValuesBlockQ8 part, const float* scales) {
  const int8_t* v = static_cast<const int8_t*>(t.v) + part.column;
  I acc[R][4 * C];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 8
    for (int c = 0; c < 4 * C; ++c) acc[i][c] = zeroi();
  for (int64_t j = part.begin; j < part.end; j += 4) {
    const float* p = t.s + part.row * t.s_row + j;
    const int8_t* key[4];
    if (part.row == 0 && part.column == 0 && fetches_q8(t))
      for (int r = 0; r < 4; ++r) fetch_row(v + (j + r + kFetchBytesAhead) * t.v_row, t.dv);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r)
      key[r] = v + (j + r < part.end ? j + r : part.end - 1) * t.v_row;  // behind the end p is 0
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c) {
      const int64_t at = c * kBytes, n = part.left - at;
      I k0 = load_bytes(key[0] + at, n), k1 = load_bytes(key[1] + at, n), k2 = load_bytes(key[2] + at, n),
        k3 = load_bytes(key[3] + at, n);
      I lo01 = low_bytes(k0, k1), hi01 = high_bytes(k0, k1), lo23 = low_bytes(k2, k3), hi23 = high_bytes(k2, k3);
      I y[4] = {low_words(lo01, lo23), high_words(lo01, lo23), low_words(hi01, hi23), high_words(hi01, hi23)};
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) {
        I even = even_bytes(y[x]), odd = odd_bytes(y[x]);
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) {
          I& a = acc[i][4 * c + x];
          a = dot_pairs(dot_pairs(a, even, pair_at(p + i * t.s_row)), odd, pair_at(p + i * t.s_row + 1));
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i) {
    const F f = set1(scales[i]);
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c) {
      in_order(acc[i] + 4 * c);
      float* o = t.o + (part.row + i) * t.o_row + part.column + c * kBytes;
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x)
        if (c * kBytes + x * kLanes < part.left)
          store(o + x * kLanes, fma(f, as_float(acc[i][4 * c + x]), load(o + x * kLanes)));
    }
  }
}

void values_q8(const DecodeTile& t) {
  for (int64_t begin = 0; begin < t.keys; begin += kKeysOfScale) {
    const int64_t end = begin + kKeysOfScale < t.keys ? begin + kKeysOfScale : t.keys, n = end - begin;
    float scales[kMaxDecodeRows];
    for (int i = 0; i < t.rows; ++i) {  // probabilities become whole numbers where they lie
      float* s = t.s + i * t.s_row + begin;
      const auto at = [&](int64_t j) { return mul(load(t.v_scale + begin + j), load(s + j)); };
      scales[i] = to_16_bits(n, at, [&](int64_t j, I x) { storei(s + j, pair_words(x)); });
    }
    int64_t c = 0;
    auto columns = [&]<int C>() {
      in_row_blocks(t.rows, [&]<int R>(int i) {
        if constexpr (R * C <= kDecodeRows)
          values_block_q8<R, C>(t, {.row = i, .column = c, .left = t.dv - c, .begin = begin, .end = end}, scales + i);
      });
      c += C * kBytes;
    };
    if (t.rows <= kDecodeRows / 2)
      while (c + 2 * kBytes <= t.dv) columns.template operator()<2>();
    while (c < t.dv) columns.template operator()<1>();
  }
}

}  // namespace
