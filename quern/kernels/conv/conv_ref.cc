// Convolutions by their equations, segment by segment, sums in double.
//   depthwise backward: gx_u[c] = Σ_j w[c,j]·gy_{u−j}[c] over the outputs that exist;
//                       gw[c,j] += Σ_t gy_t[c]·x_{t+j}[c];  gb[c] += Σ_t gy_t[c]
//   grouped backward:   the same with a sum over the group's channels
// x: [T_in, C_in], y: [T_out, C_out]; u, t count inside a segment.
#include "quern/kernels/conv/conv_ref.h"

namespace quern::kernels {
namespace {

// One segment's rows, or a plain walk over them all: calls f(in_begin, out_begin, out_len).
template <class F>
void each_segment(const ConvSpans& s, F&& f) {
  for (size_t i = 0; i + 1 < s.out_offsets.size(); ++i)
    f(int64_t{s.in_offsets[i]}, int64_t{s.out_offsets[i]}, int64_t{s.out_offsets[i + 1]} - s.out_offsets[i]);
}

}  // namespace

template <class T>
void depthwise_conv_ref(View<const T, 2> x, View<const T, 2> w, View<const T, 1> b, ConvSpans spans, View<T, 2> y) {
  const int64_t taps = w.shape[1];
  each_segment(spans, [&](int64_t in, int64_t out, int64_t n) {
    for (int64_t t = 0; t < n; ++t)
      for (int64_t c = 0; c < w.shape[0]; ++c) {
        double sum = b ? static_cast<double>(b(c)) : 0;
        for (int64_t j = 0; j < taps; ++j)
          sum += static_cast<double>(w(c, j)) * static_cast<double>(x(in + t + j, c));
        y(out + t, c) = static_cast<T>(sum);
      }
  });
}

template <class T>
void depthwise_conv_backward_ref(const DepthwiseConvBackwardArgs<T>& a) {
  const int64_t taps = a.w.shape[1];
  each_segment(a.spans, [&](int64_t in, int64_t out, int64_t n) {
    for (int64_t u = 0; u < n + taps - 1; ++u)
      for (int64_t c = 0; c < a.w.shape[0]; ++c) {
        double sum = 0;
        for (int64_t j = 0; j < taps; ++j)
          if (u - j >= 0 && u - j < n)
            sum += static_cast<double>(a.w(c, j)) * static_cast<double>(a.gy(out + u - j, c));
        a.gx(in + u, c) = static_cast<T>(sum);
      }
    for (int64_t c = 0; c < a.w.shape[0]; ++c) {
      for (int64_t j = 0; j < taps; ++j) {
        double sum = 0;
        for (int64_t t = 0; t < n; ++t)
          sum += static_cast<double>(a.gy(out + t, c)) * static_cast<double>(a.x(in + t + j, c));
        if (a.gw) a.gw(c, j) += static_cast<T>(sum);
      }
      double sum = 0;
      for (int64_t t = 0; t < n; ++t) sum += static_cast<double>(a.gy(out + t, c));
      if (a.gb) a.gb(c) += static_cast<T>(sum);
    }
  });
}

template <class T>
void grouped_conv_ref(const GroupedConvArgs<T>& a) {
  const int64_t per_out = a.w.shape[0] / a.groups, per_in = a.w.shape[1];
  each_segment(a.spans, [&](int64_t in, int64_t out, int64_t n) {
    for (int64_t t = 0; t < n; ++t)
      for (int64_t o = 0; o < a.w.shape[0]; ++o) {
        double sum = a.b ? static_cast<double>(a.b(o)) : 0;
        for (int64_t i = 0; i < per_in; ++i)
          for (int64_t j = 0; j < a.w.shape[2]; ++j)
            sum += static_cast<double>(a.w(o, i, j)) * static_cast<double>(a.x(in + t + j, o / per_out * per_in + i));
        a.y(out + t, o) = static_cast<T>(sum);
      }
  });
}

template <class T>
void grouped_conv_backward_ref(const GroupedConvBackwardArgs<T>& a) {
  const int64_t per_out = a.w.shape[0] / a.groups, per_in = a.w.shape[1], taps = a.w.shape[2];
  each_segment(a.spans, [&](int64_t in, int64_t out, int64_t n) {
    for (int64_t u = 0; u < n + taps - 1; ++u)
      for (int64_t g = 0; g < a.groups; ++g)
        for (int64_t i = 0; i < per_in; ++i) {
          double sum = 0;
          for (int64_t j = 0; j < taps; ++j) {
            if (u - j < 0 || u - j >= n) continue;
            for (int64_t o = g * per_out; o < (g + 1) * per_out; ++o)
              sum += static_cast<double>(a.w(o, i, j)) * static_cast<double>(a.gy(out + u - j, o));
          }
          a.gx(in + u, g * per_in + i) = static_cast<T>(sum);
        }
    for (int64_t o = 0; o < a.w.shape[0]; ++o) {
      for (int64_t i = 0; i < per_in; ++i)
        for (int64_t j = 0; j < taps; ++j) {
          double sum = 0;
          for (int64_t t = 0; t < n; ++t)
            sum += static_cast<double>(a.gy(out + t, o)) *
                   static_cast<double>(a.x(in + t + j, o / per_out * per_in + i));
          if (a.gw) a.gw(o, i, j) += static_cast<T>(sum);
        }
      double sum = 0;
      for (int64_t t = 0; t < n; ++t) sum += static_cast<double>(a.gy(out + t, o));
      if (a.gb) a.gb(o) += static_cast<T>(sum);
    }
  });
}

#define QUERN_INSTANTIATE(T)                                                                                        \
  template void depthwise_conv_ref<T>(View<const T, 2>, View<const T, 2>, View<const T, 1>, ConvSpans, View<T, 2>); \
  template void depthwise_conv_backward_ref<T>(const DepthwiseConvBackwardArgs<T>&);                                \
  template void grouped_conv_ref<T>(const GroupedConvArgs<T>&);                                                     \
  template void grouped_conv_backward_ref<T>(const GroupedConvBackwardArgs<T>&);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
