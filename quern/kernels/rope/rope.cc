// Entry points of RoPE: the tables, shape checks and dispatch.
#include "quern/kernels/rope/rope.h"

#include <cmath>

#include "quern/base/error.h"
#include "quern/kernels/dispatch.h"
#include "quern/kernels/rope/rope_ref.h"
#include "quern/kernels/rope/rope_simd.h"

namespace quern::kernels {

std::vector<double> rope_inv_freq(int64_t rotary_dims, double theta) {
  QUERN_CHECK(rotary_dims % 2 == 0, "{} rotary dims", rotary_dims);
  std::vector<double> f(static_cast<size_t>(rotary_dims / 2));
  for (size_t i = 0; i < f.size(); ++i)
    f[i] = std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(rotary_dims));
  return f;
}

template <class T>
void rope_table(const RopeAngles& a, View<T, 2> cos, View<T, 2> sin) {
  const std::span<const int32_t> positions = a.positions;
  const std::span<const double> inv_freq = a.inv_freq, stretch = a.stretch;
  const int64_t n = static_cast<int64_t>(positions.size()), n_freq = static_cast<int64_t>(inv_freq.size());
  QUERN_CHECK(cos.shape == sin.shape && cos.shape[0] == n && cos.shape[1] == n_freq);
  QUERN_CHECK(stretch.empty() || static_cast<int64_t>(stretch.size()) == n);
  constexpr int64_t kGrain = 16;  // rows: one angle costs ~50 ns, a thread's start ~10 µs
  auto plain_row = [&](int64_t t) {
    for (int64_t i = 0; i < n_freq; ++i) {
      double angle = positions[static_cast<size_t>(t)] * inv_freq[static_cast<size_t>(i)];
      cos(t, i) = static_cast<T>(std::cos(angle));
      sin(t, i) = static_cast<T>(std::sin(angle));
    }
  };
  auto scaled_row = [&](int64_t t) {
    for (int64_t i = 0; i < n_freq; ++i) {
      double angle = positions[static_cast<size_t>(t)] * inv_freq[static_cast<size_t>(i)];
      if (!stretch.empty()) angle *= std::pow(stretch[static_cast<size_t>(t)], static_cast<double>(i));
      cos(t, i) = static_cast<T>(a.magnitude * std::cos(angle));
      sin(t, i) = static_cast<T>(a.magnitude * std::sin(angle));
    }
  };
  const bool scaled = a.magnitude != 1 || !stretch.empty();
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) scaled ? scaled_row(t) : plain_row(t);
  });
}

template <class T>
void rope(View<const T, 3> x, View<const T, 2> cos, View<const T, 2> sin, RopePairing pairing, RopeTurn turn,
          View<T, 3> y) {
  QUERN_CHECK(
      x.shape == y.shape && cos.shape == sin.shape && cos.shape[0] == x.shape[0] && 2 * cos.shape[1] <= x.shape[2],
      "x [{}, {}, {}], tables [{}, {}]", x.shape[0], x.shape[1], x.shape[2], cos.shape[0], cos.shape[1]);
  if constexpr (std::is_same_v<T, float>) {
    if (const RopeTable* f = fast_table(rope_avx2, rope_avx512)) {
      const int64_t heads = x.shape[1], d = x.shape[2], n = cos.shape[1];
      const RopeRows a{x.data,
                       cos.data,
                       sin.data,
                       y.data,
                       heads,
                       d,
                       n,
                       x.stride[0],
                       x.stride[1],
                       y.stride[0],
                       y.stride[1],
                       cos.stride[0],
                       sin.stride[0],
                       turn == RopeTurn::inverse ? -1.0f : 1.0f};
      // In place the line is already at hand; and every run of a head must start on a whole vector.
      const bool stream = x.data != y.data && n % 16 == 0 && stream_stores(y);
      auto* rows = (pairing == RopePairing::half ? f->half : f->interleaved)[stream];
      parallel_for(x.shape[0], grain_rows(heads * d), [&](int64_t begin, int64_t end) { rows(a, begin, end); });
      return;
    }
  }
  rope_ref(x, cos, sin, pairing, turn, y);
}

#define QUERN_INSTANTIATE(T)                                              \
  template void rope_table<T>(const RopeAngles&, View<T, 2>, View<T, 2>); \
  template void rope<T>(View<const T, 3>, View<const T, 2>, View<const T, 2>, RopePairing, RopeTurn, View<T, 3>);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
