// Rotation at a training shape (64 MiB per array), whole and half heads rotated, apart and in place.
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/rope/rope.h"

namespace quern::kernels {

void bench_kernels_rope(host::Bench& b) {
  using namespace kernels;
  constexpr int64_t kRows = 8192, kHeads = 16, kHead = 128;
  const double array = kRows * kHeads * kHead * 4.0;
  Tensor x = random_f32({kRows, kHeads, kHead}, 1), y = Tensor::zeros({kRows, kHeads, kHead}, DType::f32);
  auto xv = x.view<const float, 3>();
  auto yv = y.view<float, 3>();
  for (int64_t rotary : {kHead, kHead / 2}) {
    Tensor cos = random_f32({kRows, rotary / 2}, 2), sin = random_f32({kRows, rotary / 2}, 3);
    auto c = cos.view<const float, 2>(), s = sin.view<const float, 2>();
    const std::string shape = fmt::format("8192x16x128, {} rotate, f32", rotary);
    b.row("rope half", shape, {host::Bound::copy, 2 * array},
          [&] { rope<float>(xv, c, s, RopePairing::half, RopeTurn::forward, yv); });
    b.row("rope interleaved", shape, {host::Bound::copy, 2 * array},
          [&] { rope<float>(xv, c, s, RopePairing::interleaved, RopeTurn::forward, yv); });
  }
  Tensor cos = random_f32({kRows, kHead / 2}, 2), sin = random_f32({kRows, kHead / 2}, 3);
  b.row("rope half, in place", "8192x16x128 f32", {host::Bound::copy, 2 * array}, [&] {
    rope<float>(yv, cos.view<const float, 2>(), sin.view<const float, 2>(), RopePairing::half, RopeTurn::forward, yv);
  });
}

}  // namespace quern::kernels
