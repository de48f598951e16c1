// Entry points of the row norms: shape checks and dispatch.
#include "quern/kernels/norm/norm.h"

#include "quern/base/error.h"
#include "quern/kernels/dispatch.h"
#include "quern/kernels/norm/norm_ref.h"
#include "quern/kernels/norm/norm_simd.h"

namespace quern::kernels {
namespace {

const NormTable* table() { return fast_table(norm_avx2, norm_avx512); }

L2Rows l2_rows(View<const float, 3> x, View<const float, 1> temperature, double scale, double eps) {
  L2Rows a{};
  a.x = x.data, a.x_stride = x.stride[0], a.x_head = x.stride[1];
  a.heads = x.shape[1], a.d = x.shape[2];
  a.temperature = temperature.data;
  a.scale = static_cast<float>(scale), a.eps = static_cast<float>(eps);
  return a;
}

}  // namespace

template <class T>
void rms_norm(View<const T, 2> x, View<const T, 1> w, double eps, View<T, 2> y, View<T, 1> inv) {
  QUERN_CHECK(x.shape == y.shape && w.shape[0] == x.shape[1], "x [{}, {}], y [{}, {}], w [{}]", x.shape[0],
              x.shape[1], y.shape[0], y.shape[1], w.shape[0]);
  if constexpr (std::is_same_v<T, float>) {
    if (const NormTable* f = table()) {
      const NormRows a{x.data,   w.data,      nullptr,     y.data,     nullptr,
                       inv.data, x.stride[0], y.stride[0], x.shape[1], static_cast<float>(eps)};
      auto* rows = f->rms_norm[stream_stores(y)];
      parallel_for(x.shape[0], grain_rows(x.shape[1]), [&](int64_t begin, int64_t end) { rows(a, begin, end); });
      return;
    }
  }
  rms_norm_ref(x, w, eps, y, inv);
}

template <class T>
void rms_norm_backward(View<const T, 2> x, View<const T, 1> w, View<const T, 1> inv, View<const T, 2> gy,
                       View<T, 2> gx, View<T, 1> gw) {
  QUERN_CHECK(x.shape == gy.shape && x.shape == gx.shape && w.shape[0] == x.shape[1] && inv.shape[0] == x.shape[0]);
  if constexpr (std::is_same_v<T, float>) {
    if (const NormTable* f = table()) {
      const NormRowsBackward a{x.data,  w.data,      nullptr,      inv.data,     gy.data,
                               gx.data, x.stride[0], gy.stride[0], gx.stride[0], x.shape[1]};
      auto* rows = f->rms_norm_backward[stream_stores(gx)];
      parallel_sums(x.shape[0], grain_rows(x.shape[1]), std::array{gw},
                    [&](int64_t begin, int64_t end, auto sums) { rows(a, sums[0], nullptr, begin, end); });
      return;
    }
  }
  rms_norm_backward_ref(x, w, inv, gy, gx, gw);
}

template <class T>
void layer_norm(View<const T, 2> x, View<const T, 1> w, View<const T, 1> b, double eps, View<T, 2> y, View<T, 1> mean,
                View<T, 1> inv) {
  QUERN_CHECK(x.shape == y.shape && w.shape[0] == x.shape[1], "x [{}, {}], y [{}, {}], w [{}]", x.shape[0],
              x.shape[1], y.shape[0], y.shape[1], w.shape[0]);
  if constexpr (std::is_same_v<T, float>) {
    if (const NormTable* f = table()) {
      const NormRows a{x.data,   w.data,      b.data,      y.data,     mean.data,
                       inv.data, x.stride[0], y.stride[0], x.shape[1], static_cast<float>(eps)};
      auto* rows = f->layer_norm[stream_stores(y)];
      parallel_for(x.shape[0], grain_rows(x.shape[1]), [&](int64_t begin, int64_t end) { rows(a, begin, end); });
      return;
    }
  }
  layer_norm_ref(x, w, b, eps, y, mean, inv);
}

template <class T>
void layer_norm_backward(View<const T, 2> x, View<const T, 1> w, View<const T, 1> mean, View<const T, 1> inv,
                         View<const T, 2> gy, View<T, 2> gx, View<T, 1> gw, View<T, 1> gb) {
  QUERN_CHECK(x.shape == gy.shape && x.shape == gx.shape && w.shape[0] == x.shape[1] && inv.shape[0] == x.shape[0] &&
              mean.shape[0] == x.shape[0]);
  if constexpr (std::is_same_v<T, float>) {
    if (const NormTable* f = table()) {
      const NormRowsBackward a{x.data,  w.data,      mean.data,    inv.data,     gy.data,
                               gx.data, x.stride[0], gy.stride[0], gx.stride[0], x.shape[1]};
      auto* rows = f->layer_norm_backward[stream_stores(gx)];
      parallel_sums(x.shape[0], grain_rows(x.shape[1]), std::array{gw, gb},
                    [&](int64_t begin, int64_t end, auto sums) { rows(a, sums[0], sums[1], begin, end); });
      return;
    }
  }
  layer_norm_backward_ref(x, w, mean, inv, gy, gx, gw, gb);
}

template <class T>
void l2_norm(View<const T, 3> x, View<const T, 1> temperature, double scale, double eps, View<T, 3> y,
             View<T, 2> norm) {
  QUERN_CHECK(x.shape == y.shape && (!temperature || temperature.shape[0] == x.shape[1]));
  if constexpr (std::is_same_v<T, float>) {
    if (const NormTable* f = table()) {
      L2Rows a = l2_rows(x, temperature, scale, eps);
      a.y = y.data, a.y_stride = y.stride[0], a.y_head = y.stride[1];
      a.norm = norm.data, a.norm_stride = norm.stride[0];
      auto* rows = f->l2_norm[stream_stores(y)];
      parallel_for(x.shape[0], grain_rows(a.heads * a.d), [&](int64_t begin, int64_t end) { rows(a, begin, end); });
      return;
    }
  }
  l2_norm_ref(x, temperature, scale, eps, y, norm);
}

template <class T>
void l2_norm_backward(View<const T, 3> x, View<const T, 1> temperature, double scale, double eps,
                      View<const T, 2> norm, View<const T, 3> gy, View<T, 3> gx, View<T, 1> g_temperature) {
  QUERN_CHECK(x.shape == gy.shape && x.shape == gx.shape && norm.shape[0] == x.shape[0] &&
              norm.shape[1] == x.shape[1] && (!temperature || temperature.shape[0] == x.shape[1]));
  if constexpr (std::is_same_v<T, float>) {
    if (const NormTable* f = table()) {
      L2Rows a = l2_rows(x, temperature, scale, eps);
      a.gy = gy.data, a.gy_stride = gy.stride[0], a.gy_head = gy.stride[1];
      a.y = gx.data, a.y_stride = gx.stride[0], a.y_head = gx.stride[1];
      a.saved_norm = norm.data, a.norm_stride = norm.stride[0];
      auto* rows = f->l2_norm_backward[stream_stores(gx)];
      parallel_sums(x.shape[0], grain_rows(a.heads * a.d), std::array{g_temperature},
                    [&](int64_t begin, int64_t end, auto sums) { rows(a, sums[0], begin, end); });
      return;
    }
  }
  l2_norm_backward_ref(x, temperature, scale, eps, norm, gy, gx, g_temperature);
}

#define QUERN_INSTANTIATE(T)                                                                                        \
  template void rms_norm<T>(View<const T, 2>, View<const T, 1>, double, View<T, 2>, View<T, 1>);                    \
  template void rms_norm_backward<T>(View<const T, 2>, View<const T, 1>, View<const T, 1>, View<const T, 2>,        \
                                     View<T, 2>, View<T, 1>);                                                       \
  template void layer_norm<T>(View<const T, 2>, View<const T, 1>, View<const T, 1>, double, View<T, 2>, View<T, 1>, \
                              View<T, 1>);                                                                          \
  template void layer_norm_backward<T>(View<const T, 2>, View<const T, 1>, View<const T, 1>, View<const T, 1>,      \
                                       View<const T, 2>, View<T, 2>, View<T, 1>, View<T, 1>);                       \
  template void l2_norm<T>(View<const T, 3>, View<const T, 1>, double, double, View<T, 3>, View<T, 2>);             \
  template void l2_norm_backward<T>(View<const T, 3>, View<const T, 1>, double, double, View<const T, 2>,           \
                                    View<const T, 3>, View<T, 3>, View<T, 1>);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
