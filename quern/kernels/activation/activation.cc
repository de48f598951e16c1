// The activations' entry points: names, checks of shapes, and which version runs.
#include "quern/kernels/activation/activation.h"

#include "quern/base/error.h"
#include "quern/kernels/activation/activation_ref.h"

namespace quern::kernels {

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
  activate_ref(a, x, y);
}

template <class T>
void activate_backward(Activation a, View<const T, 2> x, View<const T, 2> gy, View<T, 2> gx) {
  QUERN_CHECK(x.shape == gy.shape && x.shape == gx.shape);
  activate_backward_ref(a, x, gy, gx);
}

template <class T>
void gated(Activation a, View<const T, 2> gate_up, View<T, 2> y) {
  QUERN_CHECK(gate_up.shape[0] == y.shape[0] && gate_up.shape[1] == 2 * y.shape[1], "gate_up [{}, {}], y [{}, {}]",
              gate_up.shape[0], gate_up.shape[1], y.shape[0], y.shape[1]);
  gated_ref(a, gate_up, y);
}

template <class T>
void gated_backward(Activation a, View<const T, 2> gate_up, View<const T, 2> gy, View<T, 2> g_gate_up) {
  QUERN_CHECK(gate_up.shape == g_gate_up.shape && gate_up.shape[0] == gy.shape[0] &&
              gate_up.shape[1] == 2 * gy.shape[1]);
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
