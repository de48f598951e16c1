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
void layer_norm(const LayerNormArgs<T>& args) {
  QUERN_CHECK(args.x.shape == args.y.shape && args.w.shape[0] == args.x.shape[1], "x [{}, {}], y [{}, {}], w [{}]",
              args.x.shape[0], args.x.shape[1], args.y.shape[0], args.y.shape[1], args.w.shape[0]);
  if constexpr (std::is_same_v<T, float>) {
    if (const NormTable* f = table()) {
      const NormRows a{
          args.x.data,   args.w.data,      args.b.data,      args.y.data,     args.mean.data,
          args.inv.data, args.x.stride[0], args.y.stride[0], args.x.shape[1], static_cast<float>(args.eps)};
      auto* rows = f->layer_norm[stream_stores(args.y)];
      parallel_for(args.x.shape[0], grain_rows(args.x.shape[1]),
                   [&](int64_t begin, int64_t end) { rows(a, begin, end); });
      return;
    }
  }
  layer_norm_ref(args);
}

template <class T>
void layer_norm_backward(const LayerNormBackwardArgs<T>& args) {
  QUERN_CHECK(args.x.shape == args.gy.shape && args.x.shape == args.gx.shape && args.w.shape[0] == args.x.shape[1] &&
              args.inv.shape[0] == args.x.shape[0] && args.mean.shape[0] == args.x.shape[0]);
  if constexpr (std::is_same_v<T, float>) {
    if (const NormTable* f = table()) {
      const NormRowsBackward a{args.x.data,  args.w.data,      args.mean.data,    args.inv.data,     args.gy.data,
                               args.gx.data, args.x.stride[0], args.gy.stride[0], args.gx.stride[0], args.x.shape[1]};
      auto* rows = f->layer_norm_backward[stream_stores(args.gx)];
      parallel_sums(args.x.shape[0], grain_rows(args.x.shape[1]), std::array{args.gw, args.gb},
                    [&](int64_t begin, int64_t end, auto sums) { rows(a, sums[0], sums[1], begin, end); });
      return;
    }
  }
  layer_norm_backward_ref(args);
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
void l2_norm_backward(const L2NormBackwardArgs<T>& args) {
  QUERN_CHECK(args.x.shape == args.gy.shape && args.x.shape == args.gx.shape &&
              args.norm.shape[0] == args.x.shape[0] && args.norm.shape[1] == args.x.shape[1] &&
              (!args.temperature || args.temperature.shape[0] == args.x.shape[1]));
  if constexpr (std::is_same_v<T, float>) {
    if (const NormTable* f = table()) {
      L2Rows a = l2_rows(args.x, args.temperature, args.scale, args.eps);
      a.gy = args.gy.data, a.gy_stride = args.gy.stride[0], a.gy_head = args.gy.stride[1];
      a.y = args.gx.data, a.y_stride = args.gx.stride[0], a.y_head = args.gx.stride[1];
      a.saved_norm = args.norm.data, a.norm_stride = args.norm.stride[0];
      auto* rows = f->l2_norm_backward[stream_stores(args.gx)];
      parallel_sums(args.x.shape[0], grain_rows(a.heads * a.d), std::array{args.g_temperature},
                    [&](int64_t begin, int64_t end, auto sums) { rows(a, sums[0], begin, end); });
      return;
    }
  }
  l2_norm_backward_ref(args);
}

#define QUERN_INSTANTIATE(T)                                                                                 \
  template void rms_norm<T>(View<const T, 2>, View<const T, 1>, double, View<T, 2>, View<T, 1>);             \
  template void rms_norm_backward<T>(View<const T, 2>, View<const T, 1>, View<const T, 1>, View<const T, 2>, \
                                     View<T, 2>, View<T, 1>);                                                \
  template void layer_norm<T>(const LayerNormArgs<T>&);                                                      \
  template void layer_norm_backward<T>(const LayerNormBackwardArgs<T>&);                                     \
  template void l2_norm<T>(View<const T, 3>, View<const T, 1>, double, double, View<T, 3>, View<T, 2>);      \
  template void l2_norm_backward<T>(const L2NormBackwardArgs<T>&);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
