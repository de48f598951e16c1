// Bodies of the fast activations; included only by activation_avx2.cc and activation_avx512.cc. The equations are
// those of activation_ref.cc; a function and its slope share their exponential.
#pragma once
#include "quern/kernels/activation/activation_simd.h"
#include "quern/kernels/vec_math.h"

namespace quern::kernels {
namespace {

struct ValueSlope {
  Vf value, slope;
};

struct Silu {
  static Vf value(Vf x) { return x * vsigmoid(x); }
  static ValueSlope both(Vf x) {
    const Vf s = vsigmoid(x), y = x * s;
    return {y, fma(y, vset(1) - s, s)};
  }
};

struct Gelu {
  static Vf value(Vf x) { return x * vnormal_cdf(x).cdf; }
  static ValueSlope both(Vf x) {
    const NormalCdf n = vnormal_cdf(x);
    return {x * n.cdf, fma(x * vset(0.39894228f), n.bell, n.cdf)};  // 1/√(2π)
  }
};

struct GeluTanh {
  static constexpr float kTwice = 1.59576912f;  // 2·√(2/π): ½(1 + tanh u) = σ(2u)
  static constexpr float kCubic = 0.044715f;
  static Vf value(Vf x) { return x * vsigmoid(x * vset(kTwice) * fma(x * x, vset(kCubic), vset(1))); }
  static ValueSlope both(Vf x) {
    const Vf s = vsigmoid(x * vset(kTwice) * fma(x * x, vset(kCubic), vset(1)));
    const Vf inner = vset(kTwice) * fma(x * x, vset(3 * kCubic), vset(1));
    const Vf y = x * s;
    return {y, fma(y * (vset(1) - s), inner, s)};
  }
};

struct Relu {
  static Vf value(Vf x) { return where_positive(x, x, vset(0)); }
  static ValueSlope both(Vf x) { return {value(x), where_positive(x, vset(1), vset(0))}; }
};

template <class Act, bool kStream>
void activate_rows(const ActivationRows& a, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    const float* x = a.x + t * a.x_stride;
    float* y = a.y + t * a.y_stride;
    each_vec<kStream>(a.n, [&](int64_t c, auto m) { store(y + c, Act::value(load(x + c, m)), m); });
  }
  end_stores<kStream>();
}

template <class Act, bool kStream>
void activate_backward_rows(const ActivationRows& a, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    const float *x = a.x + t * a.x_stride, *gy = a.gy + t * a.gy_stride;
    float* gx = a.y + t * a.y_stride;
    each_vec<kStream>(
        a.n, [&](int64_t c, auto m) { store(gx + c, load(gy + c, m) * Act::both(load(x + c, m)).slope, m); });
  }
  end_stores<kStream>();
}

template <class Act, bool kStream>
void gated_rows(const ActivationRows& a, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    const float *gate = a.x + t * a.x_stride, *up = gate + a.n;
    float* y = a.y + t * a.y_stride;
    each_vec<kStream>(a.n,
                      [&](int64_t c, auto m) { store(y + c, Act::value(load(gate + c, m)) * load(up + c, m), m); });
  }
  end_stores<kStream>();
}

template <class Act, bool kStream>
void gated_backward_rows(const ActivationRows& a, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    const float *gate = a.x + t * a.x_stride, *up = gate + a.n, *gy = a.gy + t * a.gy_stride;
    float *g_gate = a.y + t * a.y_stride, *g_up = g_gate + a.n;
    each_vec<kStream>(a.n, [&](int64_t c, auto m) {
      const ValueSlope f = Act::both(load(gate + c, m));
      const Vf g = load(gy + c, m);
      store(g_gate + c, g * load(up + c, m) * f.slope, m);
      store(g_up + c, g * f.value, m);
    });
  }
  end_stores<kStream>();
}

#define QUERN_PER_ACTIVATION(f)                                                                                \
  {                                                                                                            \
    {f<Silu, false>, f<Silu, true>}, {f<Gelu, false>, f<Gelu, true>}, {f<GeluTanh, false>, f<GeluTanh, true>}, \
        {f<Relu, false>, f<Relu, true>},                                                                       \
  }
constexpr ActivationTable kActivationTable = {
    QUERN_PER_ACTIVATION(activate_rows),
    QUERN_PER_ACTIVATION(activate_backward_rows),
    QUERN_PER_ACTIVATION(gated_rows),
    QUERN_PER_ACTIVATION(gated_backward_rows),
};
#undef QUERN_PER_ACTIVATION

}  // namespace
}  // namespace quern::kernels
