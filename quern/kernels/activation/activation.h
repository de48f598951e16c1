// Pointwise activations and their gated forms. gelu is the erf form; gelu_tanh the tanh approximation.
// Gated: y = act(gate) ⊙ up, with gate_up rows holding [gate ‖ up] (2F → F): SwiGLU (silu) and GEGLU (gelu).
#pragma once
#include <string_view>

#include "quern/tensor/view.h"

namespace quern::kernels {

enum class Activation { silu, gelu, gelu_tanh, relu };
Activation parse_activation(std::string_view name);  // HF names: silu, swish, gelu, gelu_pytorch_tanh, gelu_new, relu

template <class T>
void activate(Activation a, View<const T, 2> x, View<T, 2> y);
template <class T>
void activate_backward(Activation a, View<const T, 2> x, View<const T, 2> gy, View<T, 2> gx);

template <class T>
void gated(Activation a, View<const T, 2> gate_up, View<T, 2> y);
template <class T>
void gated_backward(Activation a, View<const T, 2> gate_up, View<const T, 2> gy, View<T, 2> g_gate_up);

}  // namespace quern::kernels
