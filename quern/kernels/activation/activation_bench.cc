// Gated activations at a training shape: 128 MiB of gate and up. Bytes: every operand once.
#include "quern/host/bench.h"
#include "quern/kernels/activation/activation.h"
#include "quern/kernels/bench_data.h"

namespace quern::kernels {

void bench_kernels_activation(host::Bench& b) {
  using namespace kernels;
  constexpr int64_t kRows = 4096, kWidth = 4096;
  const double half = kRows * kWidth * 4.0;
  Tensor gu = random_f32({kRows, 2 * kWidth}, 1, 4), gy = random_f32({kRows, kWidth}, 2);
  Tensor y = Tensor::zeros({kRows, kWidth}, DType::f32), g_gu = Tensor::zeros({kRows, 2 * kWidth}, DType::f32);
  for (auto [name, act] :
       {std::pair{"silu", Activation::silu}, {"gelu", Activation::gelu}, {"gelu_tanh", Activation::gelu_tanh}}) {
    b.row(fmt::format("gated {}", name), "4096x4096 f32", {host::Bound::copy, 3 * half},
          [&, a = act] { gated<float>(a, gu.view<const float, 2>(), y.view<float, 2>()); });
    b.row(fmt::format("gated_backward {}", name), "4096x4096 f32", {host::Bound::copy, 5 * half}, [&, a = act] {
      gated_backward<float>(a, gu.view<const float, 2>(), gy.view<const float, 2>(), g_gu.view<float, 2>());
    });
  }
}

}  // namespace quern::kernels
