// Depthwise convolution (Mamba: K = 4; CCA: K = 2) far out of cache compared with copy bandwidth; CCA's grouped
// convolution (10 groups of 128 channels, K = 2) compared with the f32 peak, and one token of it with reading the
// weights.
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/conv/conv.h"

namespace quern::kernels {

void bench_kernels_conv(host::Bench& b) {
  using namespace kernels;
  constexpr int32_t kTokens = 8192;
  constexpr int64_t kChannels = 2048;
  const double array = double{kTokens} * kChannels * 4;
  for (int32_t taps : {2, 4}) {
    const std::vector<int32_t> in = {0, kTokens + taps - 1}, out = {0, kTokens};
    Tensor x = random_f32({in[1], kChannels}, 1), w = random_f32({kChannels, taps}, 2),
           gy = random_f32({kTokens, kChannels}, 3);
    Tensor bias = random_f32({kChannels}, 4), y = Tensor::zeros({kTokens, kChannels}, DType::f32);
    Tensor gx = Tensor::zeros({in[1], kChannels}, DType::f32), gw = random_f32({kChannels, taps}, 5),
           gb = random_f32({kChannels}, 6);
    const std::string shape = fmt::format("8192x2048, {} taps, f32", taps);
    b.row("depthwise_conv", shape, {host::Bound::copy, 2 * array}, [&] {
      depthwise_conv<float>(x.view<const float, 2>(), w.view<const float, 2>(), bias.view<const float, 1>(),
                            {in, out}, y.view<float, 2>());
    });
    b.row("depthwise_conv_backward", shape, {host::Bound::copy, 4 * array}, [&] {
      depthwise_conv_backward<float>({.x = x.view<const float, 2>(),
                                      .w = w.view<const float, 2>(),
                                      .gy = gy.view<const float, 2>(),
                                      .spans = {in, out},
                                      .gx = gx.view<float, 2>(),
                                      .gw = gw.view<float, 2>(),
                                      .gb = gb.view<float, 1>()});
    });
  }
  constexpr int64_t kGroups = 10, kPer = 128, kWide = kGroups * kPer, kTaps = 2, kLayers = 64;
  constexpr int32_t kMany = 4096;
  Arena scratch;
  // As many layers as make 80 MiB of weights, so that decoding finds none of them in cache.
  Tensor w = random_f32({kLayers, kWide, kPer * kTaps}, 2), bias = random_f32({kWide}, 4);
  auto layer = [&](int64_t i) {
    return View<const float, 3>(w.view<const float, 3>()[i].data, {kWide, kPer, kTaps});
  };
  Tensor x = random_f32({kMany + 1, kWide}, 1), gy = random_f32({kMany, kWide}, 3);
  Tensor y = Tensor::zeros({kMany, kWide}, DType::f32), gx = Tensor::zeros({kMany + 1, kWide}, DType::f32);
  Tensor gw = random_f32({kWide, kPer, kTaps}, 5);
  auto xv = x.view<const float, 2>(), gyv = gy.view<const float, 2>();
  auto bv = bias.view<const float, 1>();
  const double weights = kWide * kPer * kTaps;
  const std::vector<int32_t> in = {0, kMany + 1}, out = {0, kMany}, one_in = {0, 2}, one_out = {0, 1};
  b.row("grouped_conv", "4096 tokens, 10x128, 2 taps", {host::Bound::f32_flops, 2 * kMany * weights}, [&] {
    grouped_conv<float>(
        {.x = xv, .w = layer(0), .b = bv, .groups = kGroups, .spans = {in, out}, .y = y.view<float, 2>()}, scratch);
  });
  b.row("grouped_conv_backward", "4096 tokens, 10x128, 2 taps", {host::Bound::f32_flops, 4 * kMany * weights}, [&] {
    grouped_conv_backward<float>({.x = xv,
                                  .w = layer(0),
                                  .gy = gyv,
                                  .groups = kGroups,
                                  .spans = {in, out},
                                  .gx = gx.view<float, 2>(),
                                  .gw = gw.view<float, 3>()},
                                 scratch);
  });
  b.row("grouped_conv", "1 token, 10x128, 2 taps, 64 layers", {host::Bound::read, kLayers * weights * 4}, [&] {
    for (int64_t i = 0; i < kLayers; ++i)
      grouped_conv<float>({.x = xv.slice(0, 2),
                           .w = layer(i),
                           .b = bv,
                           .groups = kGroups,
                           .spans = {one_in, one_out},
                           .y = y.view<float, 2>().slice(0, 1)},
                          scratch);
  });
}

}  // namespace quern::kernels
