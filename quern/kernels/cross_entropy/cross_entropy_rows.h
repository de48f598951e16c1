// Body of the fast loss row; included only by cross_entropy_avx2.cc and cross_entropy_avx512.cc. Three passes over the
// logits (bias and max, sum of exponentials, gradient), negligible compared with the 6·D flops per logit in matrix
// products.
#pragma once
#include "quern/kernels/cross_entropy/cross_entropy_simd.h"
#include "quern/kernels/vec_math.h"

namespace quern::kernels {
namespace {

float loss_row(const LossRow& a) {
  float* x = a.logits;
  if (a.bias) each_vec(a.vocab, [&](int64_t c, auto m) { store(x + c, load(x + c, m) + load(a.bias + c, m), m); });
  const float max = max_vec(a.vocab, x), lse = max + __builtin_logf(exp_sum_vec(a.vocab, x, max));
  const float loss = lse - x[a.target];
  if (!a.gradient) return loss;
  const Vf shift = vset(lse), scale = vset(a.scale);
  each_vec(a.vocab, [&](int64_t c, auto m) { store(x + c, vexp(load(x + c, m) - shift) * scale, m); });
  x[a.target] -= a.scale;
  return loss;
}

constexpr LossTable kLossTable = {loss_row};

}  // namespace
}  // namespace quern::kernels
