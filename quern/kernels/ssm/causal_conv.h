// Mamba's short causal convolution with its activation, over strided rows and with carried state:
//   y_t[c] = SiLU(b[c] + Σ_j w[j, c]·x_{t−K+1+j}[c])       K taps, tap 0 the oldest
// Rows before a segment's first come from its tail [K−1, C], or are zero without tails; afterwards a tail holds the
// last K−1 rows of x. Weights have taps outermost, so that a row is one pass along the channels. b may be null.
// kernels/conv has the plain form (rows gathered by the caller, no activation). Backward writes gx, adds to gw, gb.
#pragma once
#include <cstdint>
#include <span>

#include "quern/base/arena.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

constexpr int64_t kConvTaps = 8;  // at most

template <class T>
struct CausalConvInputs {
  View<const T, 2> x;  // [T, C]
  View<const T, 2> w;  // [K, C], contiguous
  View<const T, 1> b;
  std::span<const int32_t> offsets = {};
};

template <class T>
void causal_conv_silu(const CausalConvInputs<T>& in, std::span<const View<T, 2>> tails, View<T, 2> y);
// Segments start from zero. gw contiguous.
template <class T>
void causal_conv_silu_backward(const CausalConvInputs<T>& in, View<const T, 2> gy, View<T, 2> gx, View<T, 2> gw,
                               View<T, 1> gb, Arena& scratch);

}  // namespace quern::kernels
