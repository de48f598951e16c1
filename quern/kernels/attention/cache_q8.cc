// Plain loops that compilers vectorize: magnitudes are compared as integers, where a NaN is above everything, and
// rounding to nearest even is the addition of 1.5 · 2^23.
#include "quern/kernels/attention/cache_q8.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace quern::kernels {
namespace {

float largest(const float* x, int64_t n) {
  int32_t top = 0;
  for (int64_t i = 0; i < n; ++i) {
    int32_t bits = 0;
    std::memcpy(&bits, x + i, sizeof bits);
    top = std::max(top, bits & 0x7fffffff);
  }
  return std::bit_cast<float>(top);
}

}  // namespace

void quantize_cache_rows(View<const float, 3> x, View<int8_t, 3> q, View<float, 2> scale) {
  constexpr float kLevels = 127, kRound = 12582912;
  const int64_t d = x.shape[2];
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t h = 0; h < x.shape[1]; ++h) {
      const float *from = &x(t, h, 0), top = largest(from, d);
      int8_t* to = &q(t, h, 0);
      scale(t, h) = top / kLevels;
      // Below this a reciprocal overflows, and the values are nothing beside any other row's.
      const float f = top > 1e-36f ? kLevels / top : 0;
      if (!(top < INFINITY)) {  // not a number, or infinite
        std::fill_n(to, d, int8_t{1});
        continue;
      }
      for (int64_t i = 0; i < d; ++i) {
        const float r = f * from[i] + kRound;
        int32_t bits = 0;
        std::memcpy(&bits, &r, sizeof bits);
        to[i] = static_cast<int8_t>(bits - 0x4b400000);
      }
    }
}

void dequantize_cache_rows(View<const int8_t, 3> q, View<const float, 2> scale, View<float, 3> x) {
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t h = 0; h < x.shape[1]; ++h)
      for (int64_t i = 0; i < x.shape[2]; ++i) x(t, h, i) = scale(t, h) * static_cast<float>(q(t, h, i));
}

}  // namespace quern::kernels
