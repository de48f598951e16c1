// Fast f32 convolutions, including threads and scratch; arguments are checked by the entry points in conv.cc.
#pragma once
#include <algorithm>

#include "quern/kernels/conv/conv.h"
#include "quern/kernels/conv/conv_simd.h"

namespace quern::kernels {

void depthwise_conv_fast(const ConvTable& f, View<const float, 2> x, View<const float, 2> w, View<const float, 1> b,
                         ConvSpans spans, View<float, 2> y);
void depthwise_conv_backward_fast(const ConvTable& f, const DepthwiseConvBackwardArgs<float>& a);
void grouped_conv_fast(const ConvTable& f, const GroupedConvArgs<float>& a, Arena& scratch);
void grouped_conv_backward_fast(const ConvTable& f, const GroupedConvBackwardArgs<float>& a, Arena& scratch);

// Calls f(first input row, first output row, rows) for the part of every segment that lies in output rows
// [begin, end).
template <class F>
void each_run(const ConvSpans& s, int64_t begin, int64_t end, F&& f) {
  for (size_t i = 0; i + 1 < s.out_offsets.size(); ++i) {
    const int64_t from = std::max<int64_t>(begin, s.out_offsets[i]),
                  to = std::min<int64_t>(end, s.out_offsets[i + 1]);
    if (from < to) f(s.in_offsets[i] + from - s.out_offsets[i], from, to - from);
  }
}

}  // namespace quern::kernels
