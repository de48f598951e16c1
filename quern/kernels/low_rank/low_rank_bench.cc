// Sixteen rows with an adapter each, and with one for all, beside a matrix [2048, 2048]. Bytes: the factors once each.
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/low_rank/low_rank.h"

namespace quern::kernels {

void bench_kernels_low_rank(host::Bench& b) {
  constexpr int64_t kRows = 16, kWidth = 2048, kRank = 16;
  const Tensor x = random_f32({kRows, kWidth}, 1), y = Tensor::zeros({kRows, kWidth}, DType::f32);
  for (DType as : {DType::f32, DType::bf16}) {
    std::vector<LowRankFactors> factors;
    std::vector<LowRankRows> each, all;
    for (uint64_t i = 0; i < kRows; ++i)
      factors.push_back(
          LowRankFactors::pack(random_f32({kRank, kWidth}, 2 + i), random_f32({kWidth, kRank}, 40 + i), 1, as));
    for (int64_t i = 0; i < kRows; ++i) each.push_back({i, i + 1, &factors[static_cast<size_t>(i)], 1});
    all.push_back({0, kRows, factors.data(), 1});
    const double bytes = static_cast<double>(factors[0].bytes());
    const std::string shape = fmt::format("16x2048x2048 rank 16 {}", dtype_name(as));
    b.row("low_rank 16 adapters", shape, {host::Bound::copy, 16 * bytes},
          [&] { add_low_rank(x.view<const float, 2>(), each, y.view<float, 2>()); });
    b.row("low_rank one adapter", shape, {host::Bound::copy, bytes},
          [&] { add_low_rank(x.view<const float, 2>(), all, y.view<float, 2>()); });
  }
}

}  // namespace quern::kernels
