// Reference convolutions. Arguments as in conv.h.
#pragma once
#include "quern/kernels/conv/conv.h"

namespace quern::kernels {

template <class T>
void depthwise_conv_ref(View<const T, 2> x, View<const T, 2> w, View<const T, 1> b, ConvSpans spans, View<T, 2> y);
template <class T>
void depthwise_conv_backward_ref(const DepthwiseConvBackwardArgs<T>& a);
template <class T>
void grouped_conv_ref(const GroupedConvArgs<T>& a);
template <class T>
void grouped_conv_backward_ref(const GroupedConvBackwardArgs<T>& a);

}  // namespace quern::kernels
