// The row norms' entry points: checks of shapes, and which version runs.
#include "quern/kernels/norm/norm.h"

#include "quern/base/error.h"
#include "quern/kernels/norm/norm_ref.h"

namespace quern::kernels {

template <class T>
void rms_norm(View<const T, 2> x, View<const T, 1> w, double eps, View<T, 2> y, View<T, 1> inv) {
  QUERN_CHECK(x.shape == y.shape && w.shape[0] == x.shape[1], "x [{}, {}], y [{}, {}], w [{}]", x.shape[0],
              x.shape[1], y.shape[0], y.shape[1], w.shape[0]);
  rms_norm_ref(x, w, eps, y, inv);
}

template <class T>
void rms_norm_backward(View<const T, 2> x, View<const T, 1> w, View<const T, 1> inv, View<const T, 2> gy,
                       View<T, 2> gx, View<T, 1> gw) {
  QUERN_CHECK(x.shape == gy.shape && x.shape == gx.shape && w.shape[0] == x.shape[1] && inv.shape[0] == x.shape[0]);
  rms_norm_backward_ref(x, w, inv, gy, gx, gw);
}

template <class T>
void layer_norm(View<const T, 2> x, View<const T, 1> w, View<const T, 1> b, double eps, View<T, 2> y, View<T, 1> mean,
                View<T, 1> inv) {
  QUERN_CHECK(x.shape == y.shape && w.shape[0] == x.shape[1], "x [{}, {}], y [{}, {}], w [{}]", x.shape[0],
              x.shape[1], y.shape[0], y.shape[1], w.shape[0]);
  layer_norm_ref(x, w, b, eps, y, mean, inv);
}

template <class T>
void layer_norm_backward(View<const T, 2> x, View<const T, 1> w, View<const T, 1> mean, View<const T, 1> inv,
                         View<const T, 2> gy, View<T, 2> gx, View<T, 1> gw, View<T, 1> gb) {
  QUERN_CHECK(x.shape == gy.shape && x.shape == gx.shape && w.shape[0] == x.shape[1] && inv.shape[0] == x.shape[0] &&
              mean.shape[0] == x.shape[0]);
  layer_norm_backward_ref(x, w, mean, inv, gy, gx, gw, gb);
}

template <class T>
void l2_norm(View<const T, 3> x, View<const T, 1> temperature, double scale, double eps, View<T, 3> y,
             View<T, 2> norm) {
  QUERN_CHECK(x.shape == y.shape && (!temperature || temperature.shape[0] == x.shape[1]));
  l2_norm_ref(x, temperature, scale, eps, y, norm);
}

template <class T>
void l2_norm_backward(View<const T, 3> x, View<const T, 1> temperature, double scale, double eps,
                      View<const T, 2> norm, View<const T, 3> gy, View<T, 3> gx, View<T, 1> g_temperature) {
  QUERN_CHECK(x.shape == gy.shape && x.shape == gx.shape && norm.shape[0] == x.shape[0] &&
              norm.shape[1] == x.shape[1] && (!temperature || temperature.shape[0] == x.shape[1]));
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
