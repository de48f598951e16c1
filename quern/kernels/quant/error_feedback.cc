// H = U·D·Uᵀ from the last channel to the first: d_k = H_kk − Σ_{i>k} d_i·U_ki²,
//   U_jk = (H_jk − Σ_{i>k} U_ji·d_i·U_ki) / d_k, sums along the rows of U; U takes the place of H.
#include "quern/kernels/quant/error_feedback.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::kernels {
namespace {

float dot(const float* a, const float* b, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

void add_outer_products(View<const float, 2> x, InputSquares& to) {
  if (to.rows < 0 || x.shape[0] == 0) return;
  const int64_t K = x.shape[1];
  to.sum.resize(static_cast<size_t>(K * K));
  Tensor sum = Tensor::empty({K, K}, DType::f32);
  gemm<float>(x, x, sum.view<float, 2>(), {.trans_a = true});
  const float* h = sum.data<float>();
  parallel_for(K, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * K; i < end * K; ++i) to.sum[static_cast<size_t>(i)] += static_cast<double>(h[i]);
  });
  to.rows += x.shape[0];
}

InputFactor factor_inputs(InputSquares&& seen, double damping) {
  InputFactor f;
  const auto K = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(seen.sum.size()))));
  double mean = 0;
  for (int64_t k = 0; k < K; ++k) mean += seen.sum[static_cast<size_t>(k * K + k)] / static_cast<double>(K);
  if (mean <= 0) return f;
  QUERN_CHECK(damping > 0 && std::isfinite(mean), "damping {}, mean square {}", damping, mean);
  f.u = Tensor::empty({K, K}, DType::f32);
  float* h = f.u.data<float>();
  for (int64_t i = 0; i < K * K; ++i) h[i] = static_cast<float>(seen.sum[static_cast<size_t>(i)] / mean);
  seen = {};
  const float floor = static_cast<float>(damping);
  f.d.resize(static_cast<size_t>(K));
  std::vector<float> weighted(static_cast<size_t>(K));  // d_i·U_ki
  for (int64_t k = K - 1; k >= 0; --k) {
    const int64_t tail = K - k - 1;
    float* row = h + k * K + k + 1;
    for (int64_t i = 0; i < tail; ++i)
      weighted[static_cast<size_t>(i)] = f.d[static_cast<size_t>(k + 1 + i)] * row[i];
    const float d = std::max(h[k * K + k] + floor - dot(weighted.data(), row, tail), floor);
    f.d[static_cast<size_t>(k)] = d;
    parallel_for(k, 64, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        float& at = h[j * K + k];
        at = (at - dot(weighted.data(), h + j * K + k + 1, tail)) / d;
      }
    });
  }
  for (int64_t k = 0; k < K; ++k) std::fill(h + k * K, h + k * K + k, 0.0f), h[k * K + k] = 1;
  return f;
}

double output_cost(const InputFactor& f, const Tensor& w) {
  Tensor y = Tensor::empty({w.dim(0), w.dim(1)}, DType::f32);
  gemm<float>(w.view<const float, 2>(), f.u.view<const float, 2>(), y.view<float, 2>());
  double sum = 0;
  for (int64_t i = 0; i < y.dim(0); ++i)
    for (int64_t k = 0; k < y.dim(1); ++k) {
      const double v = static_cast<double>(y.data<float>()[i * y.dim(1) + k]);
      sum += static_cast<double>(f.d[static_cast<size_t>(k)]) * v * v;
    }
  return sum;
}

}  // namespace quern::kernels
