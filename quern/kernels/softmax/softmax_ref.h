// Reference row softmax and log-sum-exp. Arguments as in softmax.h; sums in double.
#pragma once
#include <cstddef>

#include "quern/tensor/view.h"

namespace quern::kernels {

template <class T>
void softmax_ref(View<const T, 2> x, View<T, 2> p);
template <class T>
void softmax_backward_ref(View<const T, 2> p, View<const T, 2> gp, View<T, 2> gx);
template <class T>
void log_sum_exp_ref(View<const T, 2> x, View<T, 1> lse);

}  // namespace quern::kernels
