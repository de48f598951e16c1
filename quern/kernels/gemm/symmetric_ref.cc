// Reference versions of symmetric_product and gemm_bf16.
#include "quern/kernels/gemm/symmetric.h"

namespace quern::kernels {
namespace {

double wide(double x) { return x; }
double wide(float x) { return x; }
double wide(bf16 x) { return static_cast<float>(x); }
template <class T>
T narrow(double x) {
  if constexpr (std::is_same_v<T, bf16>)
    return bf16(static_cast<float>(x));
  else
    return static_cast<T>(x);
}

// c = α·Σ_k a[i, k]·b(k, j) + β·s
template <class T, class B>
void product(View<const T, 2> a, B b, View<const T, 2> s, View<T, 2> c, Scales o) {
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.shape[1]; ++k) sum += wide(a(i, k)) * wide(b(k, j));
      c(i, j) = narrow<T>(o.alpha * sum + (o.beta == 0 ? 0 : o.beta * wide(s(i, j))));
    }
}

}  // namespace

template <class T>
void symmetric_product_ref(View<const T, 2> x, View<const T, 2> s, View<T, 2> c, Scales o) {
  product<T>(
      x, [&](int64_t k, int64_t j) { return x(j, k); }, s, c, o);
}

void gemm_bf16_ref(View<const bf16, 2> a, View<const bf16, 2> b, View<const bf16, 2> s, View<bf16, 2> c, Scales o) {
  product<bf16>(
      a, [&](int64_t k, int64_t j) { return b(k, j); }, s, c, o);
}

template void symmetric_product_ref<float>(View<const float, 2>, View<const float, 2>, View<float, 2>, Scales);
template void symmetric_product_ref<double>(View<const double, 2>, View<const double, 2>, View<double, 2>, Scales);
template void symmetric_product_ref<bf16>(View<const bf16, 2>, View<const bf16, 2>, View<bf16, 2>, Scales);

}  // namespace quern::kernels
