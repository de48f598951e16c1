// Reference activations. Arguments as in activation.h.
#pragma once
#include "quern/kernels/activation/activation.h"

namespace quern::kernels {

template <class T>
void activate_ref(Activation a, View<const T, 2> x, View<T, 2> y);
template <class T>
void activate_backward_ref(Activation a, View<const T, 2> x, View<const T, 2> gy, View<T, 2> gx);
template <class T>
void gated_ref(Activation a, View<const T, 2> gate_up, View<T, 2> y);
template <class T>
void gated_backward_ref(Activation a, View<const T, 2> gate_up, View<const T, 2> gy, View<T, 2> g_gate_up);

}  // namespace quern::kernels
