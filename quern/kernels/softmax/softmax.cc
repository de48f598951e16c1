// Entry points of Softmax: shape checks and dispatch.
#include "quern/kernels/softmax/softmax.h"

#include "quern/base/error.h"
#include "quern/kernels/dispatch.h"
#include "quern/kernels/softmax/softmax_ref.h"
#include "quern/kernels/softmax/softmax_simd.h"

namespace quern::kernels {
namespace {

const SoftmaxTable* table() { return fast_table(softmax_avx2, softmax_avx512); }

template <class Body>
void over_rows(Body* body, const SoftmaxRows& a, int64_t rows) {
  parallel_for(rows, grain_rows(a.n), [&](int64_t begin, int64_t end) { body(a, begin, end); });
}

}  // namespace

template <class T>
void softmax(View<const T, 2> x, View<T, 2> p) {
  QUERN_CHECK(x.shape == p.shape, "x [{}, {}], p [{}, {}]", x.shape[0], x.shape[1], p.shape[0], p.shape[1]);
  if constexpr (std::is_same_v<T, float>)
    if (const SoftmaxTable* f = table())
      return over_rows(f->softmax, {x.data, nullptr, p.data, x.stride[0], 0, p.stride[0], x.shape[1]}, x.shape[0]);
  softmax_ref(x, p);
}

template <class T>
void softmax_backward(View<const T, 2> p, View<const T, 2> gp, View<T, 2> gx) {
  QUERN_CHECK(p.shape == gp.shape && p.shape == gx.shape);
  if constexpr (std::is_same_v<T, float>)
    if (const SoftmaxTable* f = table())
      return over_rows(f->backward, {p.data, gp.data, gx.data, p.stride[0], gp.stride[0], gx.stride[0], p.shape[1]},
                       p.shape[0]);
  softmax_backward_ref(p, gp, gx);
}

template <class T>
void log_sum_exp(View<const T, 2> x, View<T, 1> lse) {
  QUERN_CHECK(x.shape[0] == lse.shape[0], "x [{}, {}], lse [{}]", x.shape[0], x.shape[1], lse.shape[0]);
  if constexpr (std::is_same_v<T, float>)
    if (const SoftmaxTable* f = table())
      return over_rows(f->log_sum_exp, {x.data, nullptr, lse.data, x.stride[0], 0, 1, x.shape[1]}, x.shape[0]);
  log_sum_exp_ref(x, lse);
}

#define QUERN_INSTANTIATE(T)                                                         \
  template void softmax<T>(View<const T, 2>, View<T, 2>);                            \
  template void softmax_backward<T>(View<const T, 2>, View<const T, 2>, View<T, 2>); \
  template void log_sum_exp<T>(View<const T, 2>, View<T, 1>);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
