// Reference convolutions. Arguments as in conv.h.
#pragma once
#include "quern/kernels/conv/conv.h"

namespace quern::kernels {

template <class T>
void depthwise_conv_ref(View<const T, 2> x, View<const T, 2> w, View<const T, 1> b, ConvSpans spans, View<T, 2> y);
template <class T>
void depthwise_conv_backward_ref(View<const T, 2> x, View<const T, 2> w, View<const T, 2> gy, ConvSpans spans,
                                 View<T, 2> gx, View<T, 2> gw, View<T, 1> gb);
template <class T>
void grouped_conv_ref(View<const T, 2> x, View<const T, 3> w, View<const T, 1> b, int64_t groups, ConvSpans spans,
                      View<T, 2> y);
template <class T>
void grouped_conv_backward_ref(View<const T, 2> x, View<const T, 3> w, View<const T, 2> gy, int64_t groups,
                               ConvSpans spans, View<T, 2> gx, View<T, 3> gw, View<T, 1> gb);

}  // namespace quern::kernels
