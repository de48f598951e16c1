// Norms at a training shape far out of cache (64 MiB per array) and at one token batch inside it. Bytes: every operand
// once; backward reads x and gy and writes gx.
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/norm/norm.h"

namespace quern::kernels {

void bench_kernels_norm(host::Bench& b) {
  using namespace kernels;
  constexpr int64_t kRows = 8192, kWidth = 2048, kHeads = 16, kHead = 128;
  const double array = kRows * kWidth * 4.0;
  Tensor x = random_f32({kRows, kWidth}, 1), gy = random_f32({kRows, kWidth}, 2),
         y = Tensor::zeros({kRows, kWidth}, DType::f32);
  Tensor w = random_f32({kWidth}, 3), bias = random_f32({kWidth}, 4), gw = random_f32({kWidth}, 5),
         gb = random_f32({kWidth}, 6);
  Tensor mean = random_f32({kRows}, 7), inv = random_f32({kRows}, 8), t = random_f32({kHeads}, 9),
         gt = random_f32({kHeads}, 10);
  Tensor norm = random_f32({kRows, kHeads}, 11);
  auto xv = x.view<const float, 2>(), gyv = gy.view<const float, 2>();
  auto yv = y.view<float, 2>();
  auto wv = w.view<const float, 1>(), bv = bias.view<const float, 1>();
  auto heads = [](const Tensor& a) { return a.reshape({kRows, kHeads, kHead}).view<float, 3>(); };
  const char* shape = "8192x2048 f32";
  b.row("rms_norm", shape, {host::Bound::copy, 2 * array},
        [&] { rms_norm<float>(xv, wv, 1e-5, yv, inv.view<float, 1>()); });
  b.row("rms_norm_backward", shape, {host::Bound::copy, 3 * array},
        [&] { rms_norm_backward<float>(xv, wv, inv.view<const float, 1>(), gyv, yv, gw.view<float, 1>()); });
  b.row("layer_norm", shape, {host::Bound::copy, 2 * array}, [&] {
    layer_norm<float>({.x = xv,
                       .w = wv,
                       .b = bv,
                       .eps = 1e-5,
                       .y = yv,
                       .mean = mean.view<float, 1>(),
                       .inv = inv.view<float, 1>()});
  });
  b.row("layer_norm_backward", shape, {host::Bound::copy, 3 * array}, [&] {
    layer_norm_backward<float>({.x = xv,
                                .w = wv,
                                .mean = mean.view<const float, 1>(),
                                .inv = inv.view<const float, 1>(),
                                .gy = gyv,
                                .gx = yv,
                                .gw = gw.view<float, 1>(),
                                .gb = gb.view<float, 1>()});
  });
  b.row("l2_norm", "8192x16x128 f32", {host::Bound::copy, 2 * array},
        [&] { l2_norm<float>(heads(x), t.view<const float, 1>(), 1, 1e-6, heads(y), norm.view<float, 2>()); });
  b.row("l2_norm_backward", "8192x16x128 f32", {host::Bound::copy, 3 * array}, [&] {
    l2_norm_backward<float>({.x = heads(x),
                             .temperature = t.view<const float, 1>(),
                             .scale = 1,
                             .eps = 1e-6,
                             .norm = norm.view<const float, 2>(),
                             .gy = heads(gy),
                             .gx = heads(y),
                             .g_temperature = gt.view<float, 1>()});
  });
}

}  // namespace quern::kernels
