// The gated norm and the causal convolution by the defining equations, sums in double.
//   norm backward, per group of width w with u = y·SiLU(z), ρ = rsqrt(mean u² + eps), q = g_out ⊙ weight:
//   gu = ρ·(q − u·ρ²·mean(q·u)),  gy = gu·SiLU(z),  gz = gu·y·SiLU'(z)
#include "quern/kernels/ssm/ssm_ref.h"

namespace quern::kernels {
namespace {

double silu(double x) { return x * sigmoid(x); }
double silu_slope(double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }

// Row `i` of a segment beginning at row `begin`, or the tail's row where i < 0.
template <class T>
double row_value(const View<const T, 2>& x, const View<T, 2>* tail, int64_t begin, int64_t i, int64_t c) {
  if (i >= 0) return static_cast<double>(x(begin + i, c));
  return tail ? static_cast<double>((*tail)(tail->shape[0] + i, c)) : 0;
}

}  // namespace

template <class T>
void gated_rms_norm_ref(View<const T, 2> y, View<const T, 2> z, View<const T, 1> w, int64_t groups, double eps,
                        View<T, 2> out) {
  const int64_t width = y.shape[1] / groups;
  for (int64_t t = 0; t < y.shape[0]; ++t)
    for (int64_t g = 0; g < groups; ++g) {
      double squares = 0;
      auto u = [&](int64_t c) { return static_cast<double>(y(t, c)) * silu(static_cast<double>(z(t, c))); };
      for (int64_t c = g * width; c < (g + 1) * width; ++c) squares += u(c) * u(c);
      const double inv = 1 / std::sqrt(squares / static_cast<double>(width) + eps);
      for (int64_t c = g * width; c < (g + 1) * width; ++c)
        out(t, c) = static_cast<T>(u(c) * inv * static_cast<double>(w(c)));
    }
}

template <class T>
void gated_rms_norm_backward_ref(const GatedRmsNormBackwardArgs<T>& args) {
  const int64_t width = args.y.shape[1] / args.groups;
  const double n = static_cast<double>(width);
  for (int64_t t = 0; t < args.y.shape[0]; ++t)
    for (int64_t g = 0; g < args.groups; ++g) {
      double squares = 0, along = 0;
      auto u = [&](int64_t c) { return static_cast<double>(args.y(t, c)) * silu(static_cast<double>(args.z(t, c))); };
      auto q = [&](int64_t c) { return static_cast<double>(args.g_out(t, c)) * static_cast<double>(args.w(c)); };
      for (int64_t c = g * width; c < (g + 1) * width; ++c) squares += u(c) * u(c), along += q(c) * u(c);
      const double inv = 1 / std::sqrt(squares / n + args.eps);
      for (int64_t c = g * width; c < (g + 1) * width; ++c) {
        const double v = u(c), gu = inv * (q(c) - v * inv * inv * along / n), zc = static_cast<double>(args.z(t, c));
        if (args.gw) args.gw(c) += static_cast<T>(static_cast<double>(args.g_out(t, c)) * v * inv);
        const double yc = static_cast<double>(args.y(t, c));
        args.gy(t, c) = static_cast<T>(gu * silu(zc));
        args.gz(t, c) = static_cast<T>(gu * yc * silu_slope(zc));
      }
    }
}

template <class T>
void causal_conv_silu_ref(const CausalConvInputs<T>& in, std::span<const View<T, 2>> tails, View<T, 2> y) {
  const int64_t K = in.w.shape[0];
  for (size_t s = 0; s + 1 < in.offsets.size(); ++s) {
    const int64_t begin = in.offsets[s], len = in.offsets[s + 1] - begin;
    for (int64_t i = 0; i < len; ++i)
      for (int64_t c = 0; c < in.x.shape[1]; ++c) {
        double sum = in.b ? static_cast<double>(in.b(c)) : 0;
        for (int64_t j = 0; j < K; ++j)
          sum += static_cast<double>(in.w(j, c)) *
                 row_value(in.x, tails.empty() ? nullptr : &tails[s], begin, i - K + 1 + j, c);
        y(begin + i, c) = static_cast<T>(silu(sum));
      }
  }
}

template <class T>
void causal_conv_silu_backward_ref(const CausalConvInputs<T>& in, View<const T, 2> gy, View<T, 2> gx, View<T, 2> gw,
                                   View<T, 1> gb) {
  const int64_t K = in.w.shape[0];
  const View<T, 2>* none = nullptr;
  for (int64_t t = 0; t < gx.shape[0]; ++t)
    for (int64_t c = 0; c < gx.shape[1]; ++c) gx(t, c) = 0;
  for (size_t s = 0; s + 1 < in.offsets.size(); ++s) {
    const int64_t begin = in.offsets[s], len = in.offsets[s + 1] - begin;
    for (int64_t c = 0; c < in.x.shape[1]; ++c) {
      for (int64_t i = 0; i < len; ++i) {
        double v = in.b ? static_cast<double>(in.b(c)) : 0;
        for (int64_t j = 0; j < K; ++j)
          v += static_cast<double>(in.w(j, c)) * row_value(in.x, none, begin, i - K + 1 + j, c);
        const double dv = static_cast<double>(gy(begin + i, c)) * silu_slope(v);
        if (gb) gb(c) += static_cast<T>(dv);
        for (int64_t j = 0; j < K; ++j) {
          const int64_t from = i - K + 1 + j;
          if (from < 0) continue;
          gx(begin + from, c) += static_cast<T>(static_cast<double>(in.w(j, c)) * dv);
          if (gw) gw(j, c) += static_cast<T>(dv * static_cast<double>(in.x(begin + from, c)));
        }
      }
    }
  }
}

#define QUERN_INSTANTIATE(T)                                                                                  \
  template void gated_rms_norm_ref<T>(View<const T, 2>, View<const T, 2>, View<const T, 1>, int64_t, double,  \
                                      View<T, 2>);                                                            \
  template void gated_rms_norm_backward_ref<T>(const GatedRmsNormBackwardArgs<T>&);                           \
  template void causal_conv_silu_ref<T>(const CausalConvInputs<T>&, std::span<const View<T, 2>>, View<T, 2>); \
  template void causal_conv_silu_backward_ref<T>(const CausalConvInputs<T>&, View<const T, 2>, View<T, 2>,    \
                                                 View<T, 2>, View<T, 1>);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
