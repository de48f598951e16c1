// Quantized matrix multiplication: few rows compared with read bandwidth (over 512 MiB of different random weights in
// turn), many compared with the bf16 peak and with PackedLinear bf16.
#include "quern/base/rng.h"
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/quant/quant_linear.h"

namespace quern::kernels {
namespace {

// Random bits make a packed matrix as good as any for timing; quantizing 512 MiB would take most of the minute.
QuantLinear random_packed(int64_t n, int64_t k, const QuantFormat& s, uint64_t seed) {
  const QuantLayout l(n, k, s);
  Tensor blob = Tensor::empty({l.bytes()}, DType::u8);
  Rng rng(seed);
  for (uint64_t& v : std::span(reinterpret_cast<uint64_t*>(blob.raw()), static_cast<size_t>(l.bytes() / 8)))
    v = rng.next();
  float* scale = reinterpret_cast<float*>(blob.data<uint8_t>() + l.scales_at());
  std::fill_n(scale, l.panels * 64, 0.01f);
  return QuantLinear::view(blob, n, k, s, "bench");
}

void quantized(host::Bench& b, const QuantFormat& s, int64_t m, int64_t n, int64_t k) {
  const std::string name = fmt::format("quant_{}{}{}", format_name(s.format),
                                       s.format == WeightFormat::q4 ? fmt::format("_g{}", s.group) : "",
                                       s.asymmetric ? "_asym" : ""),
                    shape = fmt::format("m{} n{} k{}", m, n, k);
  const int64_t bytes = QuantLayout(n, k, s).bytes(), few = m <= 32 ? (int64_t{512} << 20) / bytes + 1 : 1;
  std::vector<QuantLinear> w;
  for (int64_t i = 0; i < few; ++i) w.push_back(random_packed(n, k, s, static_cast<uint64_t>(i)));
  Tensor x = random_f32({m, k}, 77), y = Tensor::zeros({m, n}, DType::f32);
  size_t turn = 0;
  auto apply = [&] { w[turn++ % w.size()].apply(x.view<const float, 2>(), {}, y.view<float, 2>(), thread_arena()); };
  if (m <= 32) b.row(name, shape, {host::Bound::read, static_cast<double>(bytes)}, apply);
  if (m >= 16) b.row(name, shape, {host::Bound::bf16_flops, 2.0 * static_cast<double>(m * n * k)}, apply);
}

}  // namespace

void bench_kernels_quant(host::Bench& b) {
  const QuantFormat schemes[] = {{WeightFormat::q8},
                                 {WeightFormat::q4, 32},
                                 {WeightFormat::q4, 64},
                                 {WeightFormat::q4, 32, true},
                                 {WeightFormat::q8a8}};
  for (const QuantFormat& s : schemes)
    for (int64_t m : {1, 2, 4, 8, 16, 512}) quantized(b, s, m, 4096, 2048);
}

}  // namespace quern::kernels
