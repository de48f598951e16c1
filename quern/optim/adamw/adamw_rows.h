// Fast AdamW update, written once over vec_math.h for both vector widths. Every element passes through the same
// operations wherever a piece is cut, tails included.
#pragma once
#include "quern/kernels/vec_math.h"
#include "quern/optim/adamw/adamw_simd.h"

namespace quern::optim {
namespace {

inline kernels::Vf vsqrt(kernels::Vf a) {
#if defined(__AVX512F__)
  return _mm512_sqrt_ps(a);
#else
  return _mm256_sqrt_ps(a);
#endif
}

void update(const AdamWStep& a, int64_t n) {
  using namespace kernels;
  const Vf b1 = vset(a.beta1), c1 = vset(1 - a.beta1), b2 = vset(a.beta2), c2 = vset(1 - a.beta2), eps = vset(a.eps),
           kept = vset(a.keep), step = vset(a.step), root = vset(a.root), scale = vset(a.grad_scale);
  each_vec(n, [&](int64_t i, auto t) {
    const Vf g = load(a.g + i, t) * scale;
    const Vf m = fma(b1, load(a.m + i, t), c1 * g), v = fma(b2, load(a.v + i, t), c2 * (g * g));
    store(a.m + i, m, t);
    store(a.v + i, v, t);
    store(a.w + i, fnma(step, m / fma(vsqrt(v), root, eps), kept * load(a.w + i, t)), t);
  });
}

}  // namespace
}  // namespace quern::optim
