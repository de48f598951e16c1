// Bodies of the fast convolutions; included by conv_avx2.cc and conv_avx512.cc alone.
// Channels are walked in strips of 512: at K = 4 the strip's weights and the rows in reach (18 KiB) stay in the
// first-level cache, so that x is read from memory once, not K times.
#pragma once
#include "quern/kernels/conv/conv_simd.h"
#include "quern/kernels/vec_math.h"

namespace quern::kernels {
namespace {

constexpr int64_t kChannelStrip = 512;

template <class F>
inline __attribute__((always_inline)) void each_strip(int64_t channels, F f) {  // f(first, count)
  for (int64_t c = 0; c < channels; c += kChannelStrip)
    f(c, channels - c < kChannelStrip ? channels - c : kChannelStrip);
}

template <bool kStream, int kTaps>  // kTaps 0: known at run time only
void depthwise_taps(const DepthwiseRows& a) {
  const int64_t taps = kTaps ? kTaps : a.taps;
  each_strip(a.channels, [&](int64_t first, int64_t count) {
    for (int64_t r = 0; r < a.rows; ++r) {
      const float *x = a.x + r * a.x_stride + first, *w = a.w + first, *b = a.b ? a.b + first : nullptr;
      float* y = a.y + r * a.y_stride + first;
      each_vec<kStream>(count, [&](int64_t c, auto m) {
        Vf v = b ? load(b + c, m) : vset(0);
        for (int64_t j = 0; j < taps; ++j)
          v = fma(load(w + j * a.w_stride + c, m), load(x + j * a.x_stride + c, m), v);
        store(y + c, v, m);
      });
    }
  });
  end_stores<kStream>();
}

template <bool kStream>
void depthwise_rows(const DepthwiseRows& a) {
  switch (a.taps) {  // the kernels of CCA and Mamba
    case 2:
      return depthwise_taps<kStream, 2>(a);
    case 3:
      return depthwise_taps<kStream, 3>(a);
    case 4:
      return depthwise_taps<kStream, 4>(a);
    default:
      return depthwise_taps<kStream, 0>(a);
  }
}

// kRows rows at a time: a sum is loaded and stored once for them, and gy stays in registers over the taps.
template <int kRows>
void depthwise_gradient_block(const DepthwiseGradRows& a, int64_t r, int64_t first, int64_t count) {
  const float *x = a.x + r * a.x_stride + first, *gy = a.gy + r * a.gy_stride + first;
  float *gw = a.gw ? a.gw + first : nullptr, *gb = a.gb ? a.gb + first : nullptr;
  each_vec(count, [&](int64_t c, auto m) {
    Vf g[kRows];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) g[i] = load(gy + i * a.gy_stride + c, m);
    for (int64_t j = 0; gw && j < a.taps; ++j) {
      Vf v = load(gw + j * a.channels + c, m);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) v = fma(g[i], load(x + (i + j) * a.x_stride + c, m), v);
      store(gw + j * a.channels + c, v, m);
    }
    if (!gb) return;
    Vf v = load(gb + c, m);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) v += g[i];
    store(gb + c, v, m);
  });
}

void depthwise_gradient_rows(const DepthwiseGradRows& a) {
  constexpr int kRows = 4;
  each_strip(a.channels, [&](int64_t first, int64_t count) {
    int64_t r = 0;
    for (; r + kRows <= a.rows; r += kRows) depthwise_gradient_block<kRows>(a, r, first, count);
    for (; r < a.rows; ++r) depthwise_gradient_block<1>(a, r, first, count);
  });
}

void interleave2(const float* a, const float* b, int64_t n, float* out) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Vf x = load(a + i, Full{}), y = load(b + i, Full{});
    store(out + 2 * i, zip_low(x, y), Full{});
    store(out + 2 * i + kLanes, zip_high(x, y), Full{});
  }
  for (; i < n; ++i) out[2 * i] = a[i], out[2 * i + 1] = b[i];
}

template <int kRows>
void dot_block(const DotRows& a, int64_t r) {
  const float* x = a.x + r * a.x_stride;
  for (int64_t o = 0; o < a.outputs; ++o) {
    const float* w = a.w + o * a.n;
    Vf s[kRows], s1[kRows];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) s[i] = s1[i] = vset(0);
    int64_t c = 0;
    for (; c + 2 * kLanes <= a.n; c += 2 * kLanes) {
      const Vf w0 = load(w + c, Full{}), w1 = load(w + c + kLanes, Full{});
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        s[i] = fma(w0, load(x + i * a.x_stride + c, Full{}), s[i]);
        s1[i] = fma(w1, load(x + i * a.x_stride + c + kLanes, Full{}), s1[i]);
      }
    }
    each_vec(a.n - c, [&](int64_t k, auto m) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) s[i] = fma(load(w + c + k, m), load(x + i * a.x_stride + c + k, m), s[i]);
    });
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) a.y[(r + i) * a.y_stride + o] = sum(s[i] + s1[i]) + (a.b ? a.b[o] : 0);
  }
}

void dot_rows(const DotRows& a) {
  constexpr int kRows = 4;
  int64_t r = 0;
  for (; r + kRows <= a.rows; r += kRows) dot_block<kRows>(a, r);
  for (; r < a.rows; ++r) dot_block<1>(a, r);
}

constexpr ConvTable kConvTable = {
    {depthwise_rows<false>, depthwise_rows<true>}, depthwise_gradient_rows, interleave2, dot_rows};

}  // namespace
}  // namespace quern::kernels
