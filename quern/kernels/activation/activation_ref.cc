// Activations and their slopes, computed in double.
//   silu  x·σ(x)                 slope σ·(1 + x·(1 − σ))
//   gelu  x·Φ(x)                 slope Φ(x) + x·φ(x)          (Φ, φ: normal distribution and density)
//   gelu_tanh  x·½(1 + tanh u), u = √(2/π)·(x + 0.044715·x³)
//              slope ½(1 + tanh u) + x·½(1 − tanh² u)·u'
// Gated backward: g_gate = gy ⊙ up ⊙ slope(gate), g_up = gy ⊙ act(gate).
#include "quern/kernels/activation/activation_ref.h"

#include <cmath>
#include <numbers>

namespace quern::kernels {
namespace {

constexpr double kCubic = 0.044715;  // Hendrycks & Gimpel 2016, eq. 3

struct ValueSlope {
  double value, slope;
};

ValueSlope evaluate(Activation a, double x) {
  switch (a) {
    case Activation::silu: {
      double s = 1 / (1 + std::exp(-x));
      return {x * s, s * (1 + x * (1 - s))};
    }
    case Activation::gelu: {
      double cdf = 0.5 * std::erfc(-x / std::numbers::sqrt2);
      double pdf = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
      return {x * cdf, cdf + x * pdf};
    }
    case Activation::gelu_tanh: {
      const double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
      double u = k * (x + kCubic * x * x * x);
      double half = 1 / (1 + std::exp(-2 * u));  // ½(1 + tanh u) without cancellation
      return {x * half, half + x * 2 * half * (1 - half) * k * (1 + 3 * kCubic * x * x)};
    }
    case Activation::relu:
      return {x > 0 ? x : 0, x > 0 ? 1.0 : 0.0};
  }
  return {0, 0};
}

}  // namespace

template <class T>
void activate_ref(Activation a, View<const T, 2> x, View<T, 2> y) {
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t c = 0; c < x.shape[1]; ++c)
      y(t, c) = static_cast<T>(evaluate(a, static_cast<double>(x(t, c))).value);
}

template <class T>
void activate_backward_ref(Activation a, View<const T, 2> x, View<const T, 2> gy, View<T, 2> gx) {
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t c = 0; c < x.shape[1]; ++c)
      gx(t, c) = static_cast<T>(static_cast<double>(gy(t, c)) * evaluate(a, static_cast<double>(x(t, c))).slope);
}

template <class T>
void gated_ref(Activation a, View<const T, 2> gate_up, View<T, 2> y) {
  const int64_t f = y.shape[1];
  for (int64_t t = 0; t < y.shape[0]; ++t)
    for (int64_t c = 0; c < f; ++c)
      y(t, c) = static_cast<T>(evaluate(a, static_cast<double>(gate_up(t, c))).value *
                               static_cast<double>(gate_up(t, f + c)));
}

template <class T>
void gated_backward_ref(Activation a, View<const T, 2> gate_up, View<const T, 2> gy, View<T, 2> g_gate_up) {
  const int64_t f = gy.shape[1];
  for (int64_t t = 0; t < gy.shape[0]; ++t)
    for (int64_t c = 0; c < f; ++c) {
      ValueSlope v = evaluate(a, static_cast<double>(gate_up(t, c)));
      double g = static_cast<double>(gy(t, c)), up = static_cast<double>(gate_up(t, f + c));
      g_gate_up(t, c) = static_cast<T>(g * up * v.slope);
      g_gate_up(t, f + c) = static_cast<T>(g * v.value);
    }
}

#define QUERN_INSTANTIATE(T)                                                                          \
  template void activate_ref<T>(Activation, View<const T, 2>, View<T, 2>);                            \
  template void activate_backward_ref<T>(Activation, View<const T, 2>, View<const T, 2>, View<T, 2>); \
  template void gated_ref<T>(Activation, View<const T, 2>, View<T, 2>);                               \
  template void gated_backward_ref<T>(Activation, View<const T, 2>, View<const T, 2>, View<T, 2>);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
