// Entry points of the activations: names, shape checks and dispatch.
#include "quern/kernels/activation/activation.h"

#include "quern/base/error.h"
#include "quern/kernels/activation/activation_ref.h"
#include "quern/kernels/activation/activation_simd.h"
#include "quern/kernels/dispatch.h"

namespace quern::kernels {
namespace {

const ActivationTable* table() { return fast_table(activation_avx2, activation_avx512); }

// Runs bodies[a] over all rows; out is what a.y describes.
void over_rows(const ActivationBody (&bodies)[4][2], Activation act, const ActivationRows& a, View<float, 2> out) {
  const bool stream = a.n % 16 == 0 && stream_stores(out);  // the second half of a gated row starts at n
  ActivationBody body = bodies[static_cast<int>(act)][stream];
  parallel_for(out.shape[0], grain_rows(a.n), [&](int64_t begin, int64_t end) { body(a, begin, end); });
}

}  // namespace

Activation parse_activation(std::string_view name) {
  if (name == "silu" || name == "swish") return Activation::silu;
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_pytorch_tanh" || name == "gelu_new" || name == "gelu_tanh") return Activation::gelu_tanh;
  if (name == "relu") return Activation::relu;
  fail("unknown activation '{}': expected silu, swish, gelu, gelu_pytorch_tanh, gelu_new or relu", name);
}

template <class T>
void activate(Activation a, View<const T, 2> x, View<T, 2> y) {
  QUERN_CHECK(x.shape == y.shape, "x [{}, {}], y [{}, {}]", x.shape[0], x.shape[1], y.shape[0], y.shape[1]);
  if constexpr (std::is_same_v<T, float>)
    if (const ActivationTable* f = table())
      return over_rows(f->activate, a, {x.data, nullptr, y.data, x.stride[0], 0, y.stride[0], y.shape[1]}, y);
  activate_ref(a, x, y);
}

template <class T>
void activate_backward(Activation a, View<const T, 2> x, View<const T, 2> gy, View<T, 2> gx) {
  QUERN_CHECK(x.shape == gy.shape && x.shape == gx.shape);
  if constexpr (std::is_same_v<T, float>)
    if (const ActivationTable* f = table())
      return over_rows(f->activate_backward, a,
                       {x.data, gy.data, gx.data, x.stride[0], gy.stride[0], gx.stride[0], gx.shape[1]}, gx);
  activate_backward_ref(a, x, gy, gx);
}

template <class T>
void gated(Activation a, View<const T, 2> gate_up, View<T, 2> y) {
  QUERN_CHECK(gate_up.shape[0] == y.shape[0] && gate_up.shape[1] == 2 * y.shape[1], "gate_up [{}, {}], y [{}, {}]",
              gate_up.shape[0], gate_up.shape[1], y.shape[0], y.shape[1]);
  if constexpr (std::is_same_v<T, float>)
    if (const ActivationTable* f = table())
      return over_rows(f->gated, a, {gate_up.data, nullptr, y.data, gate_up.stride[0], 0, y.stride[0], y.shape[1]},
                       y);
  gated_ref(a, gate_up, y);
}

template <class T>
void gated_backward(Activation a, View<const T, 2> gate_up, View<const T, 2> gy, View<T, 2> g_gate_up) {
  QUERN_CHECK(gate_up.shape == g_gate_up.shape && gate_up.shape[0] == gy.shape[0] &&
              gate_up.shape[1] == 2 * gy.shape[1]);
  if constexpr (std::is_same_v<T, float>)
    if (const ActivationTable* f = table())
      return over_rows(
          f->gated_backward, a,
          {gate_up.data, gy.data, g_gate_up.data, gate_up.stride[0], gy.stride[0], g_gate_up.stride[0], gy.shape[1]},
          g_gate_up);
  gated_backward_ref(a, gate_up, gy, g_gate_up);
}

#define QUERN_INSTANTIATE(T)                                                                      \
  template void activate<T>(Activation, View<const T, 2>, View<T, 2>);                            \
  template void activate_backward<T>(Activation, View<const T, 2>, View<const T, 2>, View<T, 2>); \
  template void gated<T>(Activation, View<const T, 2>, View<T, 2>);                               \
  template void gated_backward<T>(Activation, View<const T, 2>, View<const T, 2>, View<T, 2>);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
