// Row norms by the defining equations, one row at a time, sums in double.
//   rms_norm backward, with x̂ = x·i and g = gy⊙w:    gx = i·(g − x̂·mean(g·x̂)),            gw += Σ_t gy⊙x̂
//   layer_norm backward, with x̂ = (x − mean)·i:      gx = i·(g − mean(g) − x̂·mean(g·x̂)),  gb += Σ_t gy
//   l2_norm backward, where ‖x‖ > eps, a = s·t/‖x‖:  gx = a·(gy − x·(x·gy)/‖x‖²), else gx = (s·t/eps)·gy
// Shapes: x, y, gx, gy [T, D] or [T, H, d].
#include "quern/kernels/norm/norm_ref.h"

#include <algorithm>
#include <cmath>

namespace quern::kernels {

template <class T>
void rms_norm_ref(View<const T, 2> x, View<const T, 1> w, double eps, View<T, 2> y, View<T, 1> inv) {
  for (int64_t t = 0; t < x.shape[0]; ++t) {
    double sum = 0;
    for (int64_t c = 0; c < x.shape[1]; ++c) sum += static_cast<double>(x(t, c)) * static_cast<double>(x(t, c));
    double i = 1 / std::sqrt(sum / static_cast<double>(x.shape[1]) + eps);
    for (int64_t c = 0; c < x.shape[1]; ++c) y(t, c) = static_cast<T>(static_cast<double>(x(t, c)) * i) * w(c);
    if (inv) inv(t) = static_cast<T>(i);
  }
}

template <class T>
void rms_norm_backward_ref(View<const T, 2> x, View<const T, 1> w, View<const T, 1> inv, View<const T, 2> gy,
                           View<T, 2> gx, View<T, 1> gw) {
  for (int64_t t = 0; t < x.shape[0]; ++t) {
    double i = static_cast<double>(inv(t)), dot = 0;
    for (int64_t c = 0; c < x.shape[1]; ++c)
      dot += static_cast<double>(gy(t, c)) * static_cast<double>(w(c)) * static_cast<double>(x(t, c)) * i;
    dot /= static_cast<double>(x.shape[1]);
    for (int64_t c = 0; c < x.shape[1]; ++c) {
      double xhat = static_cast<double>(x(t, c)) * i, g = static_cast<double>(gy(t, c));
      gx(t, c) = static_cast<T>(i * (g * static_cast<double>(w(c)) - xhat * dot));
      if (gw) gw(c) += static_cast<T>(g * xhat);
    }
  }
}

template <class T>
void layer_norm_ref(const LayerNormArgs<T>& args) {
  const double n = static_cast<double>(args.x.shape[1]);
  for (int64_t t = 0; t < args.x.shape[0]; ++t) {
    double sum = 0, var = 0;
    for (int64_t c = 0; c < args.x.shape[1]; ++c) sum += static_cast<double>(args.x(t, c));
    double m = sum / n;
    for (int64_t c = 0; c < args.x.shape[1]; ++c) {
      double d = static_cast<double>(args.x(t, c)) - m;
      var += d * d;
    }
    double i = 1 / std::sqrt(var / n + args.eps);
    for (int64_t c = 0; c < args.x.shape[1]; ++c)
      args.y(t, c) = static_cast<T>((static_cast<double>(args.x(t, c)) - m) * i * static_cast<double>(args.w(c)) +
                                    (args.b ? static_cast<double>(args.b(c)) : 0));
    if (args.mean) args.mean(t) = static_cast<T>(m);
    if (args.inv) args.inv(t) = static_cast<T>(i);
  }
}

template <class T>
void layer_norm_backward_ref(const LayerNormBackwardArgs<T>& args) {
  const double n = static_cast<double>(args.x.shape[1]);
  for (int64_t t = 0; t < args.x.shape[0]; ++t) {
    double i = static_cast<double>(args.inv(t)), m = static_cast<double>(args.mean(t)), sum = 0, dot = 0;
    for (int64_t c = 0; c < args.x.shape[1]; ++c) {
      double g = static_cast<double>(args.gy(t, c)) * static_cast<double>(args.w(c));
      sum += g, dot += g * (static_cast<double>(args.x(t, c)) - m) * i;
    }
    sum /= n, dot /= n;
    for (int64_t c = 0; c < args.x.shape[1]; ++c) {
      double xhat = (static_cast<double>(args.x(t, c)) - m) * i, g = static_cast<double>(args.gy(t, c));
      args.gx(t, c) = static_cast<T>(i * (g * static_cast<double>(args.w(c)) - sum - xhat * dot));
      if (args.gw) args.gw(c) += static_cast<T>(g * xhat);
      if (args.gb) args.gb(c) += static_cast<T>(g);
    }
  }
}

template <class T>
void l2_norm_ref(View<const T, 3> x, View<const T, 1> temperature, double scale, double eps, View<T, 3> y,
                 View<T, 2> norm) {
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t h = 0; h < x.shape[1]; ++h) {
      double sum = 0;
      for (int64_t c = 0; c < x.shape[2]; ++c)
        sum += static_cast<double>(x(t, h, c)) * static_cast<double>(x(t, h, c));
      double n = std::sqrt(sum);
      double a = scale / std::max(n, eps) * (temperature ? static_cast<double>(temperature(h)) : 1);
      for (int64_t c = 0; c < x.shape[2]; ++c) y(t, h, c) = static_cast<T>(static_cast<double>(x(t, h, c)) * a);
      if (norm) norm(t, h) = static_cast<T>(n);
    }
}

template <class T>
void l2_norm_backward_ref(const L2NormBackwardArgs<T>& args) {
  for (int64_t t = 0; t < args.x.shape[0]; ++t)
    for (int64_t h = 0; h < args.x.shape[1]; ++h) {
      double dot = 0, n = static_cast<double>(args.norm(t, h));
      for (int64_t c = 0; c < args.x.shape[2]; ++c)
        dot += static_cast<double>(args.x(t, h, c)) * static_cast<double>(args.gy(t, h, c));
      double s = args.scale / std::max(n, args.eps),
             a = s * (args.temperature ? static_cast<double>(args.temperature(h)) : 1);
      double along = n > args.eps ? dot / (n * n) : 0;
      for (int64_t c = 0; c < args.x.shape[2]; ++c)
        args.gx(t, h, c) = static_cast<T>(
            a * (static_cast<double>(args.gy(t, h, c)) - static_cast<double>(args.x(t, h, c)) * along));
      if (args.g_temperature) args.g_temperature(h) += static_cast<T>(s * dot);
    }
}

#define QUERN_INSTANTIATE(T)                                                                                     \
  template void rms_norm_ref<T>(View<const T, 2>, View<const T, 1>, double, View<T, 2>, View<T, 1>);             \
  template void rms_norm_backward_ref<T>(View<const T, 2>, View<const T, 1>, View<const T, 1>, View<const T, 2>, \
                                         View<T, 2>, View<T, 1>);                                                \
  template void layer_norm_ref<T>(const LayerNormArgs<T>&);                                                      \
  template void layer_norm_backward_ref<T>(const LayerNormBackwardArgs<T>&);                                     \
  template void l2_norm_ref<T>(View<const T, 3>, View<const T, 1>, double, double, View<T, 3>, View<T, 2>);      \
  template void l2_norm_backward_ref<T>(const L2NormBackwardArgs<T>&);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
