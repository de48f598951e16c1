// Bodies of the fast softmax; included only by softmax_avx2.cc and softmax_avx512.cc. The equations are
// softmax_ref.cc's: p = e^(x − max)/Σ, gx = p ⊙ (gp − Σ gp·p).
#pragma once
#include "quern/kernels/softmax/softmax_simd.h"
#include "quern/kernels/vec_math.h"

namespace quern::kernels {
namespace {

float row_shift(int64_t n, const float* x) {
  const float m = max_vec(n, x);
  return __builtin_isinf(m) ? 0 : m;  // −∞ − (−∞) would be NaN
}

void softmax_rows(const SoftmaxRows& a, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    const float* x = a.x + t * a.x_stride;
    float* p = a.y + t * a.y_stride;
    const Vf shift = vset(row_shift(a.n, x));
    const float total = sum_vec(a.n, [&](int64_t c, auto m) {
      const Vf e = keep(vexp(load(x + c, m) - shift), vset(0), m);
      store(p + c, e, m);
      return e;
    });
    const Vf scale = vset(1 / total);
    each_vec(a.n, [&](int64_t c, auto m) { store(p + c, load(p + c, m) * scale, m); });
  }
}

void softmax_backward_rows(const SoftmaxRows& a, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    const float *p = a.x + t * a.x_stride, *gp = a.gp + t * a.gp_stride;
    float* gx = a.y + t * a.y_stride;
    const Vf dot = vset(sum_vec(a.n, [&](int64_t c, auto m) { return load(p + c, m) * load(gp + c, m); }));
    each_vec(a.n, [&](int64_t c, auto m) { store(gx + c, load(p + c, m) * (load(gp + c, m) - dot), m); });
  }
}

void log_sum_exp_rows(const SoftmaxRows& a, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    const float* x = a.x + t * a.x_stride;
    const float shift = row_shift(a.n, x);
    a.y[t] = shift + __builtin_logf(exp_sum_vec(a.n, x, shift));
  }
}

constexpr SoftmaxTable kSoftmaxTable = {softmax_rows, softmax_backward_rows, log_sum_exp_rows};

}  // namespace
}  // namespace quern::kernels
