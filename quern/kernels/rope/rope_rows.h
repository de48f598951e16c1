// Bodies of the fast rotation; included only by rope_avx2.cc and rope_avx512.cc. Both members of a pair are loaded
// before either is stored, so y may be x.
#pragma once
#include "quern/kernels/rope/rope_simd.h"
#include "quern/kernels/vec_math.h"

namespace quern::kernels {
namespace {

template <bool kStream>
void copy_rest(const RopeRows& a, const float* x, float* y) {
  const int64_t rotary = 2 * a.n_freq;
  if (x != y)
    each_vec<kStream>(a.d - rotary, [&](int64_t c, auto m) { store(y + rotary + c, load(x + rotary + c, m), m); });
}

template <bool kStream>
void rope_half_rows(const RopeRows& a, int64_t begin, int64_t end) {
  const Vf sign = vset(a.sign);
  for (int64_t t = begin; t < end; ++t)
    for (int64_t h = 0; h < a.heads; ++h) {
      const float *x = a.x + t * a.x_stride + h * a.x_head, *cos = a.cos + t * a.cos_stride;
      const float* sin = a.sin + t * a.sin_stride;
      float* y = a.y + t * a.y_stride + h * a.y_head;
      each_vec<kStream>(a.n_freq, [&](int64_t i, auto m) {
        const Vf c = load(cos + i, m), s = load(sin + i, m) * sign;
        const Vf xa = load(x + i, m), xb = load(x + a.n_freq + i, m);
        store(y + i, fms(xa, c, xb * s), m);
        store(y + a.n_freq + i, fma(xb, c, xa * s), m);
      });
      copy_rest<kStream>(a, x, y);
    }
  end_stores<kStream>();
}

template <bool kStream>
void rope_interleaved_rows(const RopeRows& a, int64_t begin, int64_t end) {
  const Vf sign = vset(a.sign);
  const auto whole = [] {
    if constexpr (kStream)
      return Stream{};
    else
      return Full{};
  }();
  for (int64_t t = begin; t < end; ++t)
    for (int64_t h = 0; h < a.heads; ++h) {
      const float *x = a.x + t * a.x_stride + h * a.x_head, *cos = a.cos + t * a.cos_stride;
      const float* sin = a.sin + t * a.sin_stride;
      float* y = a.y + t * a.y_stride + h * a.y_head;
      int64_t i = 0;
      for (; i + kLanes <= a.n_freq; i += kLanes) {
        const Vf c = load(cos + i, Full{}), s = load(sin + i, Full{}) * sign;
        const Vf low = load(x + 2 * i, Full{}), high = load(x + 2 * i + kLanes, Full{});
        const Vf xa = evens(low, high), xb = odds(low, high);
        const Vf ya = fms(xa, c, xb * s), yb = fma(xb, c, xa * s);
        store(y + 2 * i, zip_low(ya, yb), whole);
        store(y + 2 * i + kLanes, zip_high(ya, yb), whole);
      }
      for (; i < a.n_freq; ++i) {
        const float c = cos[i], s = sin[i] * a.sign, xa = x[2 * i], xb = x[2 * i + 1];
        y[2 * i] = xa * c - xb * s;
        y[2 * i + 1] = xb * c + xa * s;
      }
      copy_rest<kStream>(a, x, y);
    }
  end_stores<kStream>();
}

constexpr RopeTable kRopeTable = {
    {rope_half_rows<false>, rope_half_rows<true>},
    {rope_interleaved_rows<false>, rope_interleaved_rows<true>},
};

}  // namespace
}  // namespace quern::kernels
