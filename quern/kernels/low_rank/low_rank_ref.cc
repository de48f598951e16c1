// The definition, row by row.
#include <vector>

#include "quern/kernels/low_rank/low_rank.h"

namespace quern::kernels {

void add_low_rank_ref(View<const float, 2> x, std::span<const LowRankRows> rows, View<float, 2> y) {
  for (const LowRankRows& g : rows) {
    const LowRankFactors& f = *g.factors;
    const Tensor a = f.a().to(DType::f32), b = f.b().to(DType::f32);
    const auto A = a.view<const float, 2>(), B = b.view<const float, 2>();
    for (int64_t t = g.begin; t < g.end; ++t) {
      std::vector<double> sums(static_cast<size_t>(f.n()), 0.0);
      for (int64_t r = 0; r < f.rank(); ++r) {
        double low = 0;
        for (int64_t i = 0; i < f.k(); ++i) low += static_cast<double>(x(t, i)) * static_cast<double>(A(r, i));
        for (int64_t n = 0; n < f.n(); ++n) sums[static_cast<size_t>(n)] += low * static_cast<double>(B(r, n));
      }
      const double s = static_cast<double>(g.scale) * static_cast<double>(f.scale());
      for (int64_t n = 0; n < f.n(); ++n)
        y(t, n) = static_cast<float>(static_cast<double>(y(t, n)) + s * sums[static_cast<size_t>(n)]);
    }
  }
}

}  // namespace quern::kernels
