// Row norms. RMSNorm: y = x · i · w, i = (mean x² + eps)^−½.  LayerNorm: y = (x − mean) · i · w + b. The statistic is
// saved for backward: i per row (RMSNorm), mean and i per row (LayerNorm). Sums in f32 at least. l2norm: per head
// vector, y = x · (s / max(‖x‖, eps)) · t[row group]; CCA's query/key norm and temperature. Cost: one read and one
// write of x; limited by copy bandwidth out of cache.
#pragma once
#include <cstddef>

#include "quern/tensor/view.h"

namespace quern::kernels {

template <class T>
void rms_norm(View<const T, 2> x, View<const T, 1> w, double eps, View<T, 2> y, View<T, 1> inv /*may be null*/);
template <class T>
void rms_norm_backward(View<const T, 2> x, View<const T, 1> w, View<const T, 1> inv, View<const T, 2> gy,
                       View<T, 2> gx, View<T, 1> gw /*+=, may be null*/);

template <class T>
struct LayerNormArgs {
  View<const T, 2> x;       // [T, D]
  View<const T, 1> w;       // [D]
  View<const T, 1> b = {};  // [D]; may be null
  double eps;
  View<T, 2> y;                    // [T, D]
  View<T, 1> mean = {}, inv = {};  // [T], saved for backward; both may be null
};
template <class T>
void layer_norm(const LayerNormArgs<T>& args);
template <class T>
struct LayerNormBackwardArgs {
  View<const T, 2> x;             // [T, D]
  View<const T, 1> w, mean, inv;  // [D], [T], [T]
  View<const T, 2> gy;            // [T, D]
  View<T, 2> gx;                  // [T, D]
  View<T, 1> gw = {}, gb = {};    // [D], += ; may be null
};
template <class T>
void layer_norm_backward(const LayerNormBackwardArgs<T>& args);

// x, y: [T, H, d]; temperature: [H] or null (= 1); norm: [T, H], ‖x‖ saved for backward, may be null.
template <class T>
void l2_norm(View<const T, 3> x, View<const T, 1> temperature, double scale, double eps, View<T, 3> y,
             View<T, 2> norm);
template <class T>
struct L2NormBackwardArgs {
  View<const T, 3> x;                 // [T, H, d]
  View<const T, 1> temperature = {};  // [H]; may be null (= 1)
  double scale, eps;
  View<const T, 2> norm;          // [T, H], ‖x‖
  View<const T, 3> gy;            // [T, H, d]
  View<T, 3> gx;                  // [T, H, d]
  View<T, 1> g_temperature = {};  // [H], += ; may be null
};
template <class T>
void l2_norm_backward(const L2NormBackwardArgs<T>& args);

}  // namespace quern::kernels
