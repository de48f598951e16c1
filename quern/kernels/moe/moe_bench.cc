// A mixture of 16 experts, top-1, width 1024: training forward and backward compared with the f32 peak, and one token
// on prepacked bf16 weights compared with reading them.
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/moe/moe.h"

namespace quern::kernels {

void bench_kernels_moe(host::Bench& b) {
  using namespace kernels;
  constexpr int64_t kExperts = 16, kTokens = 2048, kWidth = 1024, kInner = 1024;
  Tensor x = random_f32({kTokens, kWidth}, 1), gu = random_f32({kExperts, 2 * kInner, kWidth}, 2, 0.05);
  Tensor down = random_f32({kExperts, kWidth, kInner}, 3, 0.05), p = random_f32({kTokens, 1}, 4),
         gy = random_f32({kTokens, kWidth}, 5);
  Tensor y = Tensor::zeros({kTokens, kWidth}, DType::f32), gx = Tensor::zeros({kTokens, kWidth}, DType::f32);
  Tensor gp = Tensor::zeros({kTokens, 1}, DType::f32), g_gu = Tensor::zeros(gu.shape(), DType::f32),
         g_down = Tensor::zeros(down.shape(), DType::f32);
  Tensor saved_gu = Tensor::zeros({kTokens, 2 * kInner}, DType::f32),
         saved_out = Tensor::zeros({kTokens, kWidth}, DType::f32);
  std::vector<int32_t> expert(kTokens);
  Rng rng(6);
  for (int32_t& e : expert) e = static_cast<int32_t>(rng.below(kExperts));
  Arena scratch;
  const MoePlan plan = moe_plan({expert.data(), {kTokens, 1}}, kExperts, scratch);
  const double flops = 6.0 * kTokens * kWidth * kInner;
  b.row("moe_ffn", "2048 tokens, 16 of 1024x1024", {host::Bound::f32_flops, flops}, [&] {
    moe_ffn<float>(
        {x.view<const float, 2>(), gu.view<const float, 3>(), down.view<const float, 3>(), p.view<const float, 2>(),
         Activation::silu, y.view<float, 2>(), saved_gu.view<float, 2>(), saved_out.view<float, 2>()},
        plan, scratch);
  });
  b.row("moe_ffn_backward", "2048 tokens, 16 of 1024x1024", {host::Bound::f32_flops, 2 * flops}, [&] {
    moe_ffn_backward<float>(
        {x.view<const float, 2>(), gu.view<const float, 3>(), down.view<const float, 3>(), p.view<const float, 2>(),
         saved_gu.view<const float, 2>(), saved_out.view<const float, 2>(), gy.view<const float, 2>(),
         Activation::silu, gx.view<float, 2>(), gp.view<float, 2>(), g_gu.view<float, 3>(), g_down.view<float, 3>()},
        plan, scratch);
  });
  std::vector<PrepackedWeight> packed_gu, packed_down;
  for (int64_t e = 0; e < kExperts; ++e) {
    packed_gu.push_back(PrepackedWeight::pack(gu.narrow(0, e, 1).reshape({2 * kInner, kWidth}), DType::bf16));
    packed_down.push_back(PrepackedWeight::pack(down.narrow(0, e, 1).reshape({kWidth, kInner}), DType::bf16));
  }
  // Sixteen single tokens, each to another expert: 96 MiB of weights, so that none is found in cache.
  std::vector<MoePlan> plans;
  std::vector<int32_t> each(kExperts);
  for (int32_t e = 0; e < kExperts; ++e) {
    each[static_cast<size_t>(e)] = e;
    plans.push_back(moe_plan({&each[static_cast<size_t>(e)], {1, 1}}, kExperts, scratch));
  }
  b.row("moe_ffn_packed", "1 token, 16 of 1024x1024 bf16", {host::Bound::read, kExperts * 3.0 * kWidth * kInner * 2},
        [&] {
          for (const MoePlan& one : plans)
            moe_ffn_packed({.x = x.view<const float, 2>().slice(0, 1),
                            .gate_up = packed_gu,
                            .down = packed_down,
                            .p = p.view<const float, 2>().slice(0, 1),
                            .act = Activation::silu,
                            .y = y.view<float, 2>().slice(0, 1)},
                           one, scratch);
        });
}

}  // namespace quern::kernels
