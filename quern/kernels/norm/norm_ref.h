// Reference row norms: the version for double, and what the fast versions are tested against. Arguments as in norm.h.
// Sums are taken in double whatever T is.
#pragma once
#include <cstddef>

#include "quern/kernels/norm/norm.h"

namespace quern::kernels {

template <class T>
void rms_norm_ref(View<const T, 2> x, View<const T, 1> w, double eps, View<T, 2> y, View<T, 1> inv);
template <class T>
void rms_norm_backward_ref(View<const T, 2> x, View<const T, 1> w, View<const T, 1> inv, View<const T, 2> gy,
                           View<T, 2> gx, View<T, 1> gw);
template <class T>
void layer_norm_ref(const LayerNormArgs<T>& args);
template <class T>
void layer_norm_backward_ref(const LayerNormBackwardArgs<T>& args);
template <class T>
void l2_norm_ref(View<const T, 3> x, View<const T, 1> temperature, double scale, double eps, View<T, 3> y,
                 View<T, 2> norm);
template <class T>
void l2_norm_backward_ref(const L2NormBackwardArgs<T>& args);

}  // namespace quern::kernels
