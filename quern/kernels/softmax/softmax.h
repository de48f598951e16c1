// Row softmax p = exp(x − max) / Σ, computed in f32 or double, and log-sum-exp. In-place operation is allowed (p.data
// == x.data).
#pragma once
#include <cstddef>

#include "quern/tensor/view.h"

namespace quern::kernels {

template <class T>
void softmax(View<const T, 2> x, View<T, 2> p);
template <class T>
void softmax_backward(View<const T, 2> p, View<const T, 2> gp, View<T, 2> gx);
template <class T>
void log_sum_exp(View<const T, 2> x, View<T, 1> lse);

}  // namespace quern::kernels
