// Head loss with gradients compared with the f32 peak: 6·T·V·D flops, and the loss alone: 2·T·V·D.
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/cross_entropy/cross_entropy.h"

namespace quern::kernels {

void bench_kernels_cross_entropy(host::Bench& b) {
  using namespace kernels;
  constexpr int64_t kTokens = 512, kWidth = 1024, kVocab = 32768;
  Tensor h = random_f32({kTokens, kWidth}, 1), w = random_f32({kVocab, kWidth}, 2, 0.05);
  Tensor gh = Tensor::zeros({kTokens, kWidth}, DType::f32), gw = Tensor::zeros({kVocab, kWidth}, DType::f32);
  std::vector<int32_t> targets(kTokens);
  Rng rng(3);
  for (int32_t& t : targets) t = static_cast<int32_t>(rng.below(kVocab));
  const HeadLoss<float> in{h.view<const float, 2>(), w.view<const float, 2>(), {}, targets, {}};
  Arena scratch;
  const double flops = 2.0 * kTokens * kWidth * kVocab;
  b.row("head_cross_entropy", "512x1024, 32768 tokens, loss", {host::Bound::f32_flops, flops},
        [&] { head_cross_entropy<float>(in, 1, {}, {}, scratch); });
  b.row("head_cross_entropy", "512x1024, 32768 tokens, gradients", {host::Bound::f32_flops, 3 * flops}, [&] {
    head_cross_entropy<float>(in, 1, {gh.view<float, 2>(), gw.view<float, 2>(), {}}, {}, scratch);
  });
}

}  // namespace quern::kernels
