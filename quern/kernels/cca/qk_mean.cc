// The q/k mean coupling. With group size G: mq[h] = ½(q[h] + k[h/G]); mk[j] = (1/G) Σ_{h in j} mq[h].
// Backward: G_mq[h] = g_q[h] + g_k[h/G]/G;  g_q~[h] += ½ G_mq[h];  g_k~[j] += ½ Σ_{h in j} G_mq[h].
#include "quern/base/threads.h"
#include "quern/kernels/cca/cca.h"

namespace quern::kernels {
namespace {
constexpr int64_t kTokensPerThread = 32;
}

template <class T>
void add_qk_mean(View<const T, 3> z, int64_t n_head, View<T, 3> out) {
  int64_t n_kv = z.shape[1] - n_head, G = n_head / n_kv, d = z.shape[2];
  const T half = T(0.5), share = T(1) / static_cast<T>(G);
  parallel_for(z.shape[0], kTokensPerThread, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      for (int64_t j = 0; j < n_kv; ++j) {
        const T* k = &z(t, n_head + j, 0);
        T* ok = &out(t, n_head + j, 0);
        for (int64_t h = j * G; h < (j + 1) * G; ++h) {
          const T* q = &z(t, h, 0);
          T* oq = &out(t, h, 0);
#pragma omp simd
          for (int64_t i = 0; i < d; ++i) {
            T m = half * (q[i] + k[i]);
            oq[i] += m;
            ok[i] += share * m;
          }
        }
      }
  });
}

template <class T>
void add_qk_mean_backward(View<const T, 3> g, int64_t n_head, View<T, 3> gz) {
  int64_t n_kv = g.shape[1] - n_head, G = n_head / n_kv, d = g.shape[2];
  const T half = T(0.5), share = T(1) / static_cast<T>(G);
  parallel_for(g.shape[0], kTokensPerThread, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      for (int64_t j = 0; j < n_kv; ++j) {
        const T* gk = &g(t, n_head + j, 0);
        T* gzk = &gz(t, n_head + j, 0);
        for (int64_t h = j * G; h < (j + 1) * G; ++h) {
          const T* gq = &g(t, h, 0);
          T* gzq = &gz(t, h, 0);
#pragma omp simd
          for (int64_t i = 0; i < d; ++i) {
            T m = half * (gq[i] + share * gk[i]);
            gzq[i] += m;
            gzk[i] += m;
          }
        }
      }
  });
}

template void add_qk_mean<float>(View<const float, 3>, int64_t, View<float, 3>);
template void add_qk_mean<double>(View<const double, 3>, int64_t, View<double, 3>);
template void add_qk_mean_backward<float>(View<const float, 3>, int64_t, View<float, 3>);
template void add_qk_mean_backward<double>(View<const double, 3>, int64_t, View<double, 3>);

}  // namespace quern::kernels
