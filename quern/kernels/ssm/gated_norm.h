// Mamba-2's output norm: the gate first, then RMSNorm over each of `groups` equal spans of a row.
//   u = y ⊙ SiLU(z);  out = w ⊙ u·rsqrt(mean over the group of u² + eps)
// Rows of y, z and out may be strided; out may be y. Backward writes gy, gz and adds to gw.
#pragma once
#include "quern/tensor/view.h"

namespace quern::kernels {

template <class T>
void gated_rms_norm(View<const T, 2> y, View<const T, 2> z, View<const T, 1> w, int64_t groups, double eps,
                    View<T, 2> out);
template <class T>
struct GatedRmsNormBackwardArgs {
  View<const T, 2> y, z;  // [T, D]
  View<const T, 1> w;     // [D]
  int64_t groups;         // divides D
  double eps;
  View<const T, 2> g_out;  // [T, D]
  View<T, 2> gy, gz;       // [T, D]
  View<T, 1> gw = {};      // [D], += ; may be null
};
template <class T>
void gated_rms_norm_backward(const GatedRmsNormBackwardArgs<T>& args);

}  // namespace quern::kernels
