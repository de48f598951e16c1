// Reference softmax, three passes per row: max, sum, divide; sums in double.
//   backward: gx = p ⊙ (gp − Σ gp·p)
// A row that is −∞ everywhere has log-sum-exp −∞ and no softmax (NaN).
#include "quern/kernels/softmax/softmax_ref.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quern::kernels {
namespace {

template <class T>
double row_max(const View<const T, 2>& x, int64_t t) {
  double m = -std::numeric_limits<double>::infinity();
  for (int64_t c = 0; c < x.shape[1]; ++c) m = std::max(m, static_cast<double>(x(t, c)));
  return std::isinf(m) ? 0 : m;  // −∞ − (−∞) would be NaN
}

template <class T>
double row_sum(const View<const T, 2>& x, int64_t t, double m) {
  double sum = 0;
  for (int64_t c = 0; c < x.shape[1]; ++c) sum += std::exp(static_cast<double>(x(t, c)) - m);
  return sum;
}

}  // namespace

template <class T>
void softmax_ref(View<const T, 2> x, View<T, 2> p) {
  for (int64_t t = 0; t < x.shape[0]; ++t) {
    double m = row_max(x, t), sum = row_sum(x, t, m);
    for (int64_t c = 0; c < x.shape[1]; ++c)
      p(t, c) = static_cast<T>(std::exp(static_cast<double>(x(t, c)) - m) / sum);
  }
}

template <class T>
void softmax_backward_ref(View<const T, 2> p, View<const T, 2> gp, View<T, 2> gx) {
  for (int64_t t = 0; t < p.shape[0]; ++t) {
    double dot = 0;
    for (int64_t c = 0; c < p.shape[1]; ++c) dot += static_cast<double>(p(t, c)) * static_cast<double>(gp(t, c));
    for (int64_t c = 0; c < p.shape[1]; ++c)
      gx(t, c) = static_cast<T>(static_cast<double>(p(t, c)) * (static_cast<double>(gp(t, c)) - dot));
  }
}

template <class T>
void log_sum_exp_ref(View<const T, 2> x, View<T, 1> lse) {
  for (int64_t t = 0; t < x.shape[0]; ++t) {
    double m = row_max(x, t);
    lse(t) = static_cast<T>(m + std::log(row_sum(x, t, m)));
  }
}

#define QUERN_INSTANTIATE(T)                                                             \
  template void softmax_ref<T>(View<const T, 2>, View<T, 2>);                            \
  template void softmax_backward_ref<T>(View<const T, 2>, View<const T, 2>, View<T, 2>); \
  template void log_sum_exp_ref<T>(View<const T, 2>, View<T, 1>);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
