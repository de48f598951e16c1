// CCA's latent path with ZAYA1's sizes (8 query and 2 key heads of 128, taps 2 and 2): prefill compared with the f32
// peak, one token over more layers than fit the cache compared with reading their weights.
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/cca/cca.h"

namespace quern::kernels {

void bench_kernels_cca(host::Bench& b) {
  using namespace kernels;
  constexpr int64_t kTokens = 4096, kHeads = 10, kQueries = 8, kDim = 128, kWide = kHeads * kDim, kTaps = 2;
  constexpr int64_t kLayers = 64, kFrequencies = 32;
  const CcaLatentShape shape{
      .n_head = kQueries, .n_head_kv = kHeads - kQueries, .head_dim = kDim, .scale = 11.3137, .l2_eps = 1e-7};
  Tensor z = random_f32({kTokens, kWide}, 1), w0 = random_f32({kWide, kTaps}, 2), bias = random_f32({kWide}, 3);
  Tensor w1 = random_f32({kWide, kDim, kTaps}, 4, 0.1), temperature = random_f32({kHeads - kQueries}, 5);
  Tensor cos = random_f32({kTokens, kFrequencies}, 6), sin = random_f32({kTokens, kFrequencies}, 7);
  Tensor q = Tensor::zeros({kTokens, kQueries, kDim}, DType::f32);
  Tensor k = Tensor::zeros({kTokens, kHeads - kQueries, kDim}, DType::f32);
  std::vector<CcaLatentWeights> layers(kLayers);
  for (CcaLatentWeights& w : layers) {
    w.depthwise = w0.view<const float, 2>(), w.depthwise_bias = w.grouped_bias = bias.view<const float, 1>();
    w.grouped = cca_pack_grouped(w1.view<const float, 3>());
    w.temperature = temperature.view<const float, 1>();
  }
  auto run = [&](const CcaLatentWeights& w, std::span<const int32_t> offsets) {
    const int64_t n = offsets.back();
    CcaLatent a;
    a.z = z.view<const float, 2>().slice(0, n), a.offsets = offsets;
    a.cos = cos.view<const float, 2>().slice(0, n), a.sin = sin.view<const float, 2>().slice(0, n);
    a.q = q.view<float, 3>().slice(0, n), a.k = k.view<float, 3>().slice(0, n);
    cca_latent(shape, w, a);
  };
  const double macs = kWide * kTaps * (kDim + 1.0);
  const std::vector<int32_t> many = {0, kTokens}, one = {0, 1};
  b.row("cca_latent", "4096 tokens, 8+2 heads of 128", {host::Bound::f32_flops, 2 * kTokens * macs},
        [&] { run(layers[0], many); });
  b.row("cca_latent", "1 token, 8+2 heads of 128, 64 layers", {host::Bound::read, kLayers * macs * 4}, [&] {
    for (const CcaLatentWeights& w : layers) run(w, one);
  });
}

}  // namespace quern::kernels
