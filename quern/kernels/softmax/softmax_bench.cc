// Softmax over a vocabulary and over attention-sized rows, 64 MiB per array: read once, written once.
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/softmax/softmax.h"

namespace quern::kernels {

void bench_kernels_softmax(host::Bench& b) {
  using namespace kernels;
  for (auto [rows, width] : {std::array<int64_t, 2>{128, 131072}, {8192, 2048}}) {
    const double array = static_cast<double>(rows * width) * 4;
    Tensor x = random_f32({rows, width}, 1, 10), g = random_f32({rows, width}, 2),
           y = Tensor::zeros({rows, width}, DType::f32);
    Tensor lse = Tensor::zeros({rows}, DType::f32);
    const std::string shape = fmt::format("{}x{} f32", rows, width);
    auto xv = x.view<const float, 2>(), gv = g.view<const float, 2>();
    b.row("softmax", shape, {host::Bound::copy, 2 * array}, [&] { softmax<float>(xv, y.view<float, 2>()); });
    b.row("softmax_backward", shape, {host::Bound::copy, 3 * array},
          [&] { softmax_backward<float>(xv, gv, y.view<float, 2>()); });
    b.row("log_sum_exp", shape, {host::Bound::read, array}, [&] { log_sum_exp<float>(xv, lse.view<float, 1>()); });
  }
}

}  // namespace quern::kernels
