// Causal prefill and its backward compared with peak compute, decode compared with read bandwidth.
#include <cmath>

#include "quern/base/rng.h"
#include "quern/host/bench.h"
#include "quern/kernels/attention/attention.h"
#include "quern/kernels/attention/cache_q8.h"
#include "quern/tensor/tensor.h"

namespace quern::kernels {
namespace {

using namespace kernels;

Tensor noise(Shape shape, uint64_t seed) {
  Tensor t = Tensor::empty(std::move(shape), DType::f32);
  Rng rng(seed);
  for (float& x : t.span<float>()) x = static_cast<float>(rng.uniform() * 2 - 1);
  return t;
}

// 4096 tokens, 4 query heads on 2 key heads: pairs = T (T + 1) / 2 per head.
void prefill(host::Bench& b, int64_t d, bool bf) {
  constexpr int64_t kTokens = 4096, kHeads = 4, kKv = 2;
  Tensor q = noise({kTokens, kHeads, d}, 1), k = noise({kTokens, kKv, d}, 2), v = noise({kTokens, kKv, d}, 3);
  Tensor o = Tensor::zeros({kTokens, kHeads, d}, DType::f32), lse = Tensor::zeros({kTokens, kHeads}, DType::f32);
  Tensor go = noise({kTokens, kHeads, d}, 4), gq = noise({kTokens, kHeads, d}, 5), gk = noise({kTokens, kKv, d}, 6),
         gv = noise({kTokens, kKv, d}, 7);
  AttentionOptions opt{.scale = 1 / std::sqrt(static_cast<double>(d)), .bf16_math = bf};
  AttentionSegment<float> seg{0, kTokens, k.view<const float, 3>(), v.view<const float, 3>()};
  double flops = 4.0 * static_cast<double>(d * kHeads) * kTokens * (kTokens + 1) / 2;
  host::Bound bound = bf ? host::Bound::bf16_flops : host::Bound::f32_flops;
  std::string shape = fmt::format("{} t{} h{}/{} d{}", bf ? "bf16" : "f32", kTokens, kHeads, kKv, d);
  Arena& arena = thread_arena();
  auto forward = [&] {
    attention<float, float>(q.view<const float, 3>(), std::span<const AttentionSegment<float>>(&seg, 1), opt,
                            o.view<float, 3>(), lse.view<float, 2>(), arena);
  };
  forward();  // o and lse, for a run of the backward alone
  b.row("attention_prefill", shape, {bound, flops}, forward);
  const int32_t offsets[] = {0, kTokens};
  b.row("attention_backward", shape, {bound, 2.5 * flops}, [&] {
    attention_backward<float>({.q = q.view<const float, 3>(),
                               .k = k.view<const float, 3>(),
                               .v = v.view<const float, 3>(),
                               .o = o.view<const float, 3>(),
                               .lse = lse.view<const float, 2>(),
                               .go = go.view<const float, 3>(),
                               .offsets = offsets,
                               .options = opt,
                               .grads = {gq.view<float, 3>(), gk.view<float, 3>(), gv.view<float, 3>()}},
                              arena);
  });
}

// One token each of 8 sequences with 8192 keys behind them: 256 MiB (bf16: 128, q8: 66) and more of cache.
template <class KV>
void decode(host::Bench& b, int64_t d, int64_t group) {
  constexpr bool kQ8 = std::is_same_v<KV, int8_t>;
  constexpr int64_t kSequences = 8, kKeys = 8192, kKv = 4;
  int64_t floats = kSequences * kKeys * kKv * d;
  const Shape rows{kSequences * kKv, kKeys, d};
  Tensor k = noise(rows, 1), v = noise(rows, 2), k_scale = Tensor::zeros({rows[0], rows[1]}, DType::f32),
         v_scale = k_scale.clone();
  for (auto [x, scale] : {std::pair(&k, &k_scale), {&v, &v_scale}}) {
    Tensor made = Tensor::empty(rows, dtype_of<KV>::value);
    if constexpr (kQ8)
      quantize_cache_rows(x->template view<const float, 3>(), made.view<int8_t, 3>(),
                          scale->template view<float, 2>());
    else
      made.copy_from(*x);
    *x = made;
  }
  auto cache = [&](const Tensor& t, int64_t s) {  // head by head, as sequences keep it
    return t.narrow(0, s * kKv, kKv).swap_dims(0, 1).view<const KV, 3>();
  };
  Tensor q = noise({kSequences, kKv * group, d}, 3), o = Tensor::zeros({kSequences, kKv * group, d}, DType::f32);
  std::vector<AttentionSegment<KV>> segs;
  auto scales = [&](const Tensor& t, int64_t s) {
    return t.narrow(0, s * kKv, kKv).swap_dims(0, 1).view<const float, 2>();
  };
  for (int64_t s = 0; s < kSequences; ++s)
    segs.push_back({s, 1, cache(k, s), cache(v, s), scales(k_scale, s), scales(v_scale, s)});
  AttentionOptions opt{.scale = 1 / std::sqrt(static_cast<double>(d)), .bf16_math = !std::is_same_v<KV, float>};
  b.row("attention_decode",
        fmt::format("{} 8x{} h{}/{} d{}", kQ8 ? "q8" : dtype_name(dtype_of<KV>::value), kKeys, kKv * group, kKv, d),
        {host::Bound::read,
         2.0 * static_cast<double>(floats) * (sizeof(KV) + (kQ8 ? 4.0 / static_cast<double>(d) : 0))},
        [&] {
          attention<float, KV>(q.view<const float, 3>(), std::span<const AttentionSegment<KV>>(segs), opt,
                               o.view<float, 3>(), {}, thread_arena());
        });
}

}  // namespace

void bench_kernels_attention(host::Bench& b) {
  for (bool bf : {false, true})
    for (int64_t d : {128, 64, 80, 160, 224, 464}) prefill(b, d, bf);
  for (int64_t group : {1, 4, 8}) {
    decode<float>(b, 128, group);
    decode<bf16>(b, 128, group);
    decode<int8_t>(b, 128, group);
  }
  decode<bf16>(b, 160, 1);
  decode<int8_t>(b, 160, 1);
}

}  // namespace quern::kernels
