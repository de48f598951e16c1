// Entry points of the convolutions: checks of shapes and offsets, and dispatch.
#include "quern/kernels/conv/conv.h"

#include "quern/base/error.h"
#include "quern/kernels/conv/conv_fast.h"
#include "quern/kernels/conv/conv_ref.h"
#include "quern/kernels/dispatch.h"

namespace quern::kernels {
namespace {

const ConvTable* table() { return fast_table(conv_avx2, conv_avx512); }

void check_spans(const ConvSpans& s, int64_t taps, int64_t rows_in, int64_t rows_out) {
  QUERN_CHECK(taps >= 1 && s.in_offsets.size() == s.out_offsets.size() && !s.in_offsets.empty(),
              "{} taps, {} in offsets, {} out offsets", taps, s.in_offsets.size(), s.out_offsets.size());
  for (size_t i = 0; i + 1 < s.in_offsets.size(); ++i) {
    int64_t in = s.in_offsets[i + 1] - s.in_offsets[i], out = s.out_offsets[i + 1] - s.out_offsets[i];
    QUERN_CHECK(out >= 0 && in == out + taps - 1, "segment {}: {} rows in, {} out, {} taps", i, in, out, taps);
  }
  QUERN_CHECK(s.in_offsets[0] == 0 && s.out_offsets[0] == 0 && s.in_offsets.back() == rows_in &&
                  s.out_offsets.back() == rows_out,
              "offsets end at {} and {}, rows {} and {}", s.in_offsets.back(), s.out_offsets.back(), rows_in,
              rows_out);
}

template <class T>
void check_groups(const View<const T, 3>& w, int64_t groups, int64_t c_in, int64_t c_out) {
  QUERN_CHECK(
      w.contiguous() && groups >= 1 && w.shape[0] == c_out && c_out % groups == 0 && w.shape[1] * groups == c_in,
      "w [{}, {}, {}], {} groups, {} channels in, {} out", w.shape[0], w.shape[1], w.shape[2], groups, c_in, c_out);
}

}  // namespace

template <class T>
void depthwise_conv(View<const T, 2> x, View<const T, 2> w, View<const T, 1> b, ConvSpans spans, View<T, 2> y) {
  check_spans(spans, w.shape[1], x.shape[0], y.shape[0]);
  QUERN_CHECK(x.shape[1] == w.shape[0] && y.shape[1] == w.shape[0]);
  if constexpr (std::is_same_v<T, float>)
    if (const ConvTable* f = table()) return depthwise_conv_fast(*f, x, w, b, spans, y);
  depthwise_conv_ref(x, w, b, spans, y);
}

template <class T>
void depthwise_conv_backward(const DepthwiseConvBackwardArgs<T>& a) {
  check_spans(a.spans, a.w.shape[1], a.x.shape[0], a.gy.shape[0]);
  QUERN_CHECK(a.x.shape == a.gx.shape && a.x.shape[1] == a.w.shape[0] && a.gy.shape[1] == a.w.shape[0]);
  if constexpr (std::is_same_v<T, float>)
    if (const ConvTable* f = table()) return depthwise_conv_backward_fast(*f, a);
  depthwise_conv_backward_ref(a);
}

template <class T>
void grouped_conv(const GroupedConvArgs<T>& a, [[maybe_unused]] Arena& scratch) {
  check_spans(a.spans, a.w.shape[2], a.x.shape[0], a.y.shape[0]);
  check_groups(a.w, a.groups, a.x.shape[1], a.y.shape[1]);
  if constexpr (std::is_same_v<T, float>)
    if (const ConvTable* f = table()) return grouped_conv_fast(*f, a, scratch);
  grouped_conv_ref(a);
}

template <class T>
void grouped_conv_backward(const GroupedConvBackwardArgs<T>& a, [[maybe_unused]] Arena& scratch) {
  check_spans(a.spans, a.w.shape[2], a.x.shape[0], a.gy.shape[0]);
  check_groups(a.w, a.groups, a.x.shape[1], a.gy.shape[1]);
  QUERN_CHECK(a.x.shape == a.gx.shape && (!a.gw || a.gw.contiguous()));
  if constexpr (std::is_same_v<T, float>)
    if (const ConvTable* f = table()) return grouped_conv_backward_fast(*f, a, scratch);
  grouped_conv_backward_ref(a);
}

#define QUERN_INSTANTIATE(T)                                                                                    \
  template void depthwise_conv<T>(View<const T, 2>, View<const T, 2>, View<const T, 1>, ConvSpans, View<T, 2>); \
  template void depthwise_conv_backward<T>(const DepthwiseConvBackwardArgs<T>&);                                \
  template void grouped_conv<T>(const GroupedConvArgs<T>&, Arena&);                                             \
  template void grouped_conv_backward<T>(const GroupedConvBackwardArgs<T>&, Arena&);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
