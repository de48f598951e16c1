// Bodies of the fast convolutions; included only by conv_avx2.cc and conv_avx512.cc. Depthwise kernels take blocks of
// 8 rows, all channels in order: each vector of x is loaded once for 8 + K − 1 rows, with up to 19 sequential streams.
// Strips of channels (row by row, re-reading x from the first cache) reached a third of the copy bandwidth on Zen 4,
// blocks of 2, 4 and 8 rows 0.60, 0.85 and 0.92 of it.
#pragma once
#include "quern/kernels/conv/conv_simd.h"
#include "quern/kernels/vec_math.h"

namespace quern::kernels {
namespace {

constexpr int kBlockRows = 8;

// kRows outputs of a vector of channels: weights and the window over x stay in registers, so that a block loads
// kRows + kTaps − 1 vectors of x and kTaps of w for kRows·kTaps products.
template <bool kStream, int kTaps, int kRows>
void depthwise_block(const DepthwiseRows& a, int64_t r) {
  const float* x = a.x + r * a.x_stride;
  float* y = a.y + r * a.y_stride;
  each_vec<kStream>(a.channels, [&](int64_t c, auto m) {
    Vf w[kTaps], v[kRows + kTaps - 1];
    const Vf b = a.b ? load(a.b + c, m) : vset(0);
#pragma GCC unroll 8
    for (int j = 0; j < kTaps; ++j) w[j] = load(a.w + j * a.w_stride + c, m);
#pragma GCC unroll 16
    for (int i = 0; i < kRows + kTaps - 1; ++i) v[i] = load(x + i * a.x_stride + c, m);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      Vf sum = b;
#pragma GCC unroll 8
      for (int j = 0; j < kTaps; ++j) sum = fma(w[j], v[i + j], sum);
      store(y + i * a.y_stride + c, sum, m);
    }
  });
}

template <bool kStream, int kTaps>
void depthwise_taps(const DepthwiseRows& a) {
  int64_t r = 0;
  for (; r + kBlockRows <= a.rows; r += kBlockRows) depthwise_block<kStream, kTaps, kBlockRows>(a, r);
  for (; r < a.rows; ++r) depthwise_block<kStream, kTaps, 1>(a, r);
  end_stores<kStream>();
}

template <bool kStream>
void depthwise_any(const DepthwiseRows& a) {
  for (int64_t r = 0; r < a.rows; ++r) {
    const float* x = a.x + r * a.x_stride;
    float* y = a.y + r * a.y_stride;
    each_vec<kStream>(a.channels, [&](int64_t c, auto m) {
      Vf v = a.b ? load(a.b + c, m) : vset(0);
      for (int64_t j = 0; j < a.taps; ++j)
        v = fma(load(a.w + j * a.w_stride + c, m), load(x + j * a.x_stride + c, m), v);
      store(y + c, v, m);
    });
  }
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
      return depthwise_any<kStream>(a);
  }
}

// Sums of parameter gradients over kRows rows; the sums of a vector of channels stay in registers meanwhile.
template <int kTaps, int kRows>
void gradient_block(const DepthwiseGradRows& a, int64_t r) {
  const float *x = a.x + r * a.x_stride, *gy = a.gy + r * a.gy_stride;
  each_vec(a.channels, [&](int64_t c, auto m) {
    Vf sum[kTaps], bias = vset(0), v[kRows + kTaps - 1];
#pragma GCC unroll 8
    for (int j = 0; j < kTaps; ++j) sum[j] = a.gw ? load(a.gw + j * a.channels + c, m) : vset(0);
#pragma GCC unroll 16
    for (int i = 0; i < kRows + kTaps - 1; ++i) v[i] = load(x + i * a.x_stride + c, m);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Vf g = load(gy + i * a.gy_stride + c, m);
      bias += g;
#pragma GCC unroll 8
      for (int j = 0; j < kTaps; ++j) sum[j] = fma(g, v[i + j], sum[j]);
    }
    if (a.gw)
#pragma GCC unroll 8
      for (int j = 0; j < kTaps; ++j) store(a.gw + j * a.channels + c, sum[j], m);
    if (a.gb) store(a.gb + c, bias + load(a.gb + c, m), m);
  });
}

template <int kTaps>
void gradient_taps(const DepthwiseGradRows& a) {
  int64_t r = 0;
  for (; r + kBlockRows <= a.rows; r += kBlockRows) gradient_block<kTaps, kBlockRows>(a, r);
  for (; r < a.rows; ++r) gradient_block<kTaps, 1>(a, r);
}

void gradient_any(const DepthwiseGradRows& a) {
  for (int64_t r = 0; r < a.rows; ++r) {
    const float *x = a.x + r * a.x_stride, *gy = a.gy + r * a.gy_stride;
    each_vec(a.channels, [&](int64_t c, auto m) {
      const Vf g = load(gy + c, m);
      for (int64_t j = 0; a.gw && j < a.taps; ++j) {
        float* sum = a.gw + j * a.channels + c;
        store(sum, fma(g, load(x + j * a.x_stride + c, m), load(sum, m)), m);
      }
      if (a.gb) store(a.gb + c, g + load(a.gb + c, m), m);
    });
  }
}

void depthwise_gradient_rows(const DepthwiseGradRows& a) {
  switch (a.taps) {
    case 2:
      return gradient_taps<2>(a);
    case 3:
      return gradient_taps<3>(a);
    case 4:
      return gradient_taps<4>(a);
    default:
      return gradient_any(a);
  }
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
