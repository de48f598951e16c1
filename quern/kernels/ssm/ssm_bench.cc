// SSD and its neighbors at Zamba2-2.7B's sizes (80 heads of 64, 64 states): 2048 tokens compared with the f32 peak or
// copy bandwidth, one token of 54 layers compared with reading and writing the states. The selective scan at
// Zamba-7B's head: 3712 channels of 16 states; its bound is the f32 peak at 6 flops per state, exponentials not
// counted.
#include <array>

#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/ssm/causal_conv.h"
#include "quern/kernels/ssm/gated_norm.h"
#include "quern/kernels/ssm/selective_scan.h"
#include "quern/kernels/ssm/ssd.h"

namespace quern::kernels {
namespace {

constexpr int64_t kHeads = 80, kHead = 64, kStates = 64, kInner = kHeads * kHead, kChannels = kInner + 2 * kStates;
constexpr int32_t kTokens = 2048;

View<const float, 2> columns(const Tensor& x, int64_t begin, int64_t n) {
  return x.narrow(1, begin, n).view<const float, 2>();
}

}  // namespace

void bench_kernels_ssm(host::Bench& b) {
  using namespace kernels;
  const std::array<int32_t, 2> offsets = {0, kTokens}, one = {0, 1};
  Tensor xbc = random_f32({kTokens, kChannels}, 1), z = random_f32({kTokens, kInner + kChannels + kHeads}, 2),
         gy = random_f32({kTokens, kInner}, 3), y = Tensor::zeros({kTokens, kInner}, DType::f32),
         gx = Tensor::zeros({kTokens, kChannels}, DType::f32), gdt = Tensor::zeros({kTokens, kHeads}, DType::f32),
         a_log = random_f32({kHeads}, 4), d = random_f32({kHeads}, 5), bias = random_f32({kHeads}, 6),
         w = random_f32({kInner}, 7), taps = random_f32({4, kChannels}, 8), conv_bias = random_f32({kChannels}, 9);
  auto inputs = [&](std::span<const int32_t> rows) {
    SsdInputs<float> in;
    in.x = columns(xbc, 0, kInner).slice(0, rows.back());
    in.b = columns(xbc, kInner, kStates).slice(0, rows.back());
    in.c = columns(xbc, kInner + kStates, kStates).slice(0, rows.back());
    in.dt = columns(z, kInner + kChannels, kHeads).slice(0, rows.back());
    in.a_log = a_log.view<const float, 1>(), in.d = d.view<const float, 1>(), in.bias = bias.view<const float, 1>();
    in.offsets = rows;
    return in;
  };
  Arena scratch;
  // Per token and head: half of Q·P for the chunk, 2·N·P in and out of the state, and C·Bᵀ once for eight heads.
  const double products =
      2.0 * kTokens * kHeads * (kSsdChunk * kHead / 2 + 2 * kStates * kHead + kSsdChunk * kStates / 16);
  b.row("ssd", "2048 tokens, 80x64, 64 states", {host::Bound::f32_flops, products},
        [&] { ssd<float>(inputs(offsets), {}, y.view<float, 2>(), scratch); });
  b.row("ssd_backward", "2048 tokens, 80x64, 64 states", {host::Bound::f32_flops, 3 * products}, [&] {
    ssd_backward<float>(inputs(offsets), gy.view<const float, 2>(),
                        {gx.narrow(1, 0, kInner).view<float, 2>(),
                         gx.narrow(1, kInner, kStates).view<float, 2>(),
                         gx.narrow(1, kInner + kStates, kStates).view<float, 2>(),
                         gdt.view<float, 2>(),
                         {},
                         {},
                         {}},
                        scratch);
  });
  constexpr int64_t kLayers = 54;
  Tensor states = random_f32({kLayers, kHeads, kStates, kHead}, 10);
  b.row("ssd", "1 token, 54 layers", {host::Bound::copy, 2.0 * kLayers * kHeads * kStates * kHead * 4}, [&] {
    for (int64_t l = 0; l < kLayers; ++l) {
      const View<float, 3> s(states.data<float>() + l * kHeads * kStates * kHead, {kHeads, kStates, kHead});
      ssd<float>(inputs(one), {&s, 1}, y.view<float, 2>().slice(0, 1), scratch);
    }
  });
  b.row("causal_conv_silu", "2048x5248, 4 taps", {host::Bound::copy, 2.0 * kTokens * kChannels * 4}, [&] {
    causal_conv_silu<float>(
        {columns(z, kInner, kChannels), taps.view<const float, 2>(), conv_bias.view<const float, 1>(), offsets}, {},
        xbc.view<float, 2>());
  });
  b.row("gated_rms_norm", "2048x5120", {host::Bound::copy, 3.0 * kTokens * kInner * 4}, [&] {
    gated_rms_norm<float>(gy.view<const float, 2>(), columns(z, 0, kInner), w.view<const float, 1>(), 1, 1e-5,
                          y.view<float, 2>());
  });
  constexpr int64_t kWide = 3712, kFew = 16;
  Tensor x = random_f32({kTokens, kWide}, 11), dt = random_f32({kTokens, kWide}, 12),
         bc = random_f32({kTokens, 32}, 13), a = random_f32({kFew, kWide}, 14),
         out = Tensor::zeros({kTokens, kWide}, DType::f32), dw = random_f32({kWide}, 15);
  for (float& v : a.span<float>()) v = -std::abs(v);
  const ScanInputs<float> scan{.x = x.view<const float, 2>(),
                               .dt = dt.view<const float, 2>(),
                               .z = columns(z, 0, kWide),
                               .b = columns(bc, 0, kFew),
                               .c = columns(bc, kFew, kFew),
                               .a = a.view<const float, 2>(),
                               .d = dw.view<const float, 1>(),
                               .bias = dw.view<const float, 1>(),
                               .offsets = offsets};
  b.row("selective_scan", "2048x3712, 16 states", {host::Bound::f32_flops, 6.0 * kTokens * kWide * kFew},
        [&] { selective_scan<float>(scan, {}, out.view<float, 2>(), scratch); });
}

}  // namespace quern::kernels
