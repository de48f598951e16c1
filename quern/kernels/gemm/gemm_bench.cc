// Matrix multiplication compared with peak compute (many rows) and read bandwidth (few rows).
#include "quern/base/rng.h"
#include "quern/host/bench.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::kernels {
namespace {

Tensor noise(Shape shape, uint64_t seed) {
  Tensor t = Tensor::empty(std::move(shape), DType::f32);
  Rng rng(seed);
  for (float& x : t.span<float>()) x = static_cast<float>(rng.uniform() - 0.5);
  return t;
}

void packed(host::Bench& b, DType dtype, int64_t m, int64_t n, int64_t k) {
  std::string name = fmt::format("packed_linear_{}", dtype_name(dtype)), shape = fmt::format("m{} n{} k{}", m, n, k);
  // Few rows: matrices enough to make 256 MiB in turn, else W would sit in the last-level cache.
  bool few = m <= 32;
  int64_t copies = few ? std::max<int64_t>(1, (int64_t{256} << 20) / (n * k * dtype_size(dtype))) : 1;
  std::vector<PackedLinear> w;
  for (int64_t i = 0; i < copies; ++i)
    w.push_back(PackedLinear::pack(noise({n, k}, static_cast<uint64_t>(i)), dtype));
  Tensor x = noise({m, k}, 77), y = Tensor::zeros({m, n}, DType::f32);
  size_t turn = 0;
  auto apply = [&] { w[turn++ % w.size()].apply(x.view<const float, 2>(), {}, y.view<float, 2>(), thread_arena()); };
  if (few) b.row(name, shape, {host::Bound::read, static_cast<double>(w[0].bytes())}, apply);
  if (m >= 16)  // 16 flops a byte: on a fast bus the products are the bound, not the bytes
    b.row(name, shape,
          {dtype == DType::bf16 ? host::Bound::bf16_flops : host::Bound::f32_flops,
           2.0 * static_cast<double>(m * n * k)},
          apply);
}

void plain(host::Bench& b, int64_t m, int64_t n, int64_t k, bool trans_b) {
  Tensor x = noise({m, k}, 1), w = noise(trans_b ? Shape{n, k} : Shape{k, n}, 2),
         y = Tensor::zeros({m, n}, DType::f32);
  b.row(trans_b ? "gemm_f32_nt" : "gemm_f32_nn", fmt::format("m{} n{} k{}", m, n, k),
        {host::Bound::f32_flops, 2.0 * static_cast<double>(m * n * k)}, [&] {
          gemm<float>(x.view<const float, 2>(), w.view<const float, 2>(), y.view<float, 2>(), {.trans_b = trans_b});
        });
}

void rounded(host::Bench& b, const char* name, int64_t m, int64_t n, int64_t k, GemmOptions o) {
  Tensor x = noise(o.trans_a ? Shape{k, m} : Shape{m, k}, 1), w = noise(o.trans_b ? Shape{n, k} : Shape{k, n}, 2),
         y = Tensor::zeros({m, n}, DType::f32);
  b.row(name, fmt::format("m{} n{} k{}", m, n, k), {host::Bound::bf16_flops, 2.0 * static_cast<double>(m * n * k)},
        [&] { gemm<float>(x.view<const float, 2>(), w.view<const float, 2>(), y.view<float, 2>(), o); });
}

}  // namespace

void bench_kernels_gemm(host::Bench& b) {
  using enum DType;
  for (DType t : {bf16, f32}) {
    for (int64_t m : {1, 4, 16, 128, 512}) packed(b, t, m, 4096, 2048);
    packed(b, t, 2048, 2048, 4096);
  }
  for (int64_t width : {512, 768, 2048}) {  // a training step's three products
    rounded(b, "gemm_bf16_nt", 4096, width, width, {.trans_b = true, .bf16 = true});
    rounded(b, "gemm_bf16_nn", 4096, width, width, {.bf16 = true});
    rounded(b, "gemm_bf16_tn", width, width, 4096, {.trans_a = true, .beta = 1, .bf16 = true});
  }
  for (bool nt : {false, true}) {
    plain(b, 2048, 2048, 2048, nt);
    plain(b, 128, 2048, 2048, nt);
    plain(b, 16, 2048, 2048, nt);
  }
}

}  // namespace quern::kernels
