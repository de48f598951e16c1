// softplus for files named *_avx2.cc and *_avx512.cc: log(1 + eˣ) = max(x, 0) + log1p(e^−|x|). With u = e^−|x| ≤ 1,
// log1p(u) = 2·artanh(q), q = u / (2 + u) ≤ 1/3; the series to q¹⁵ leaves 2e-9. No cancellation for small steps.
#pragma once
#include "quern/kernels/vec_math.h"

namespace quern::kernels {
namespace {

inline Vf vsoftplus(Vf x) {
  const Vf u = vexp(vset(0.0f) - vabs(x)), q = u / (vset(2.0f) + u), q2 = q * q;
  Vf p = vset(1.0f / 15);
  p = fma(p, q2, vset(1.0f / 13));
  p = fma(p, q2, vset(1.0f / 11));
  p = fma(p, q2, vset(1.0f / 9));
  p = fma(p, q2, vset(1.0f / 7));
  p = fma(p, q2, vset(1.0f / 5));
  p = fma(p, q2, vset(1.0f / 3));
  p = fma(p, q2, vset(1.0f));
  return fma(q + q, p, vmax(x, vset(0.0f)));
}

}  // namespace
}  // namespace quern::kernels
