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
struct DepthwiseConvBackwardArgs {
  View<const T, 2> x, w, gy;  // [T_in, C], [C, K], [T_out, C]
  ConvSpans spans;
  View<T, 2> gx;       // [T_in, C]
  View<T, 2> gw = {};  // [C, K], += ; may be null
  View<T, 1> gb = {};  // [C], += ; may be null
};
template <class T>
void depthwise_conv_backward(const DepthwiseConvBackwardArgs<T>& a);

template <class T>
struct GroupedConvArgs {
  View<const T, 2> x;       // [T_in, C_in]
  View<const T, 3> w;       // [C_out, C_in / G, K]
  View<const T, 1> b = {};  // [C_out]; may be null
  int64_t groups;           // G
  ConvSpans spans;
  View<T, 2> y;  // [T_out, C_out]
};
template <class T>
void grouped_conv(const GroupedConvArgs<T>& a, Arena& scratch);
template <class T>
struct GroupedConvBackwardArgs {
  View<const T, 2> x;   // [T_in, C_in]
  View<const T, 3> w;   // [C_out, C_in / G, K]
  View<const T, 2> gy;  // [T_out, C_out]
  int64_t groups;       // G
  ConvSpans spans;
  View<T, 2> gx;       // [T_in, C_in]
  View<T, 3> gw = {};  // [C_out, C_in / G, K], += ; may be null
  View<T, 1> gb = {};  // [C_out], += ; may be null
};
template <class T>
void grouped_conv_backward(const GroupedConvBackwardArgs<T>& a, Arena& scratch);

}  // namespace quern::kernels
