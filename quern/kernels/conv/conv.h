// "Valid" convolutions over time on ragged segments: the caller puts the K−1 older rows (zeros, or carried state) in
// front of each segment, so segment s has in_offsets[s+1]−in_offsets[s] = out length + K − 1 input rows. Tap 0 is the
// oldest. Weights: depthwise [C, K]; grouped [C_out, C_in / G, K] with G groups, output channel g·(C_out/G)+o reading
// input channels of group g. Biases may be null.
//   depthwise: y_t[c] = b[c] + Σ_j w[c,j] x_{t+j}[c]
//   grouped:   y_t[o] = b[o] + Σ_j Σ_i W[o,i,j] x_{t+j}[g(o)·n+i]
// Backward writes gx (every input row, including the older ones) and adds to gw, gb.
#pragma once
#include <cstdint>
#include <span>

#include "quern/base/arena.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

struct ConvSpans {
  std::span<const int32_t> in_offsets, out_offsets;
};

template <class T>
void depthwise_conv(View<const T, 2> x, View<const T, 2> w, View<const T, 1> b, ConvSpans spans, View<T, 2> y);
template <class T>
void depthwise_conv_backward(View<const T, 2> x, View<const T, 2> w, View<const T, 2> gy, ConvSpans spans,
                             View<T, 2> gx, View<T, 2> gw, View<T, 1> gb);

template <class T>
void grouped_conv(View<const T, 2> x, View<const T, 3> w, View<const T, 1> b, int64_t groups, ConvSpans spans,
                  View<T, 2> y, Arena& scratch);
template <class T>
void grouped_conv_backward(View<const T, 2> x, View<const T, 3> w, View<const T, 2> gy, int64_t groups,
                           ConvSpans spans, View<T, 2> gx, View<T, 3> gw, View<T, 1> gb, Arena& scratch);

}  // namespace quern::kernels
