// Lookup of 8192 random rows of a 512 MiB table (bf16: 256 MiB), and the backward sum into it.
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/embedding/embedding.h"

namespace quern::kernels {

void bench_kernels_embedding(host::Bench& b) {
  using namespace kernels;
  constexpr int64_t kVocab = 65536, kWidth = 2048, kTokens = 8192;
  const double rows = kTokens * kWidth * 4.0;
  Tensor table = random_f32({kVocab, kWidth}, 1), y = random_f32({kTokens, kWidth}, 2);
  Tensor narrow = table.to(DType::bf16);
  std::vector<int32_t> ids(kTokens);
  Rng rng(3);
  for (int32_t& id : ids) id = static_cast<int32_t>(rng.below(kVocab));
  b.row("embedding", "8192 of 65536x2048 f32", {host::Bound::copy, 2 * rows},
        [&] { embedding<float, float>(table.view<const float, 2>(), ids, y.view<float, 2>()); });
  b.row("embedding", "8192 of 65536x2048 bf16", {host::Bound::copy, 1.5 * rows},
        [&] { embedding<bf16, float>(narrow.view<const bf16, 2>(), ids, y.view<float, 2>()); });
  b.row("embedding_backward", "8192 of 65536x2048 f32", {host::Bound::copy, 3 * rows},
        [&] { embedding_backward<float>(ids, y.view<const float, 2>(), table.view<float, 2>()); });
}

}  // namespace quern::kernels
