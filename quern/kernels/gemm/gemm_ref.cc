// Reference matrix multiplication: C = op(A)·op(B) + beta·C, one triple loop with a double accumulator. A: [M, K] or
// [K, M] (trans_a), B: [K, N] or [N, K] (trans_b), C: [M, N]. Cost: 2MNK flops, without blocking.
#include "quern/base/bf16.h"
#include "quern/base/error.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::kernels {

template <class T>
void gemm_ref(View<const T, 2> a, View<const T, 2> b, View<T, 2> c, GemmOptions o) {
  int64_t m = c.shape[0], n = c.shape[1], k = a.shape[o.trans_a ? 0 : 1];
  QUERN_CHECK(a.shape[o.trans_a ? 1 : 0] == m && b.shape[o.trans_b ? 1 : 0] == k && b.shape[o.trans_b ? 0 : 1] == n,
              "A [{}, {}], B [{}, {}], C [{}, {}], trans_a {}, trans_b {}", a.shape[0], a.shape[1], b.shape[0],
              b.shape[1], m, n, o.trans_a, o.trans_b);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = o.beta == 0 ? 0 : o.beta * static_cast<double>(c(i, j));
      auto read = [&](T x) {
        return std::is_same_v<T, float> && o.bf16
                   ? static_cast<double>(static_cast<float>(bf16(static_cast<float>(x))))
                   : static_cast<double>(x);
      };
      for (int64_t p = 0; p < k; ++p)
        sum += read(o.trans_a ? a(p, i) : a(i, p)) * read(o.trans_b ? b(j, p) : b(p, j));
      c(i, j) = static_cast<T>(sum);
    }
}

template void gemm_ref<float>(View<const float, 2>, View<const float, 2>, View<float, 2>, GemmOptions);
template void gemm_ref<double>(View<const double, 2>, View<const double, 2>, View<double, 2>, GemmOptions);

}  // namespace quern::kernels
