// Reference kernels of this folder: recurrences token by token, sums in double.
#pragma once
#include <cmath>

#include "quern/kernels/ssm/causal_conv.h"
#include "quern/kernels/ssm/gated_norm.h"
#include "quern/kernels/ssm/selective_scan.h"
#include "quern/kernels/ssm/ssd.h"

namespace quern::kernels {

template <class T>
void ssd_ref(const SsdInputs<T>& in, std::span<const View<T, 3>> states, View<T, 2> y, Arena& scratch);
template <class T>
void ssd_backward_ref(const SsdInputs<T>& in, View<const T, 2> gy, SsdGrads<T> grads, Arena& scratch);

template <class T>
void selective_scan_ref(const ScanInputs<T>& in, std::span<const View<T, 2>> states, View<T, 2> y, Arena& scratch);
template <class T>
void selective_scan_backward_ref(const ScanInputs<T>& in, View<const T, 2> gy, ScanGrads<T> grads, Arena& scratch);

template <class T>
void gated_rms_norm_ref(View<const T, 2> y, View<const T, 2> z, View<const T, 1> w, int64_t groups, double eps,
                        View<T, 2> out);
template <class T>
void gated_rms_norm_backward_ref(const GatedRmsNormBackwardArgs<T>& args);

template <class T>
void causal_conv_silu_ref(const CausalConvInputs<T>& in, std::span<const View<T, 2>> tails, View<T, 2> y);
template <class T>
void causal_conv_silu_backward_ref(const CausalConvInputs<T>& in, View<const T, 2> gy, View<T, 2> gx, View<T, 2> gw,
                                   View<T, 1> gb);

inline double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace quern::kernels
