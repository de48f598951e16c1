// measure_product_rates(): short loops of one thread, in turn, so that a change of the clock meets all of them.
#include <algorithm>
#include <chrono>

#include "quern/base/cpu.h"
#include "quern/kernels/cpu/peaks.h"
#include "quern/kernels/cpu/products.h"

namespace quern::kernels {
namespace {

template <class Loop>
void time(Loop&& loop, double operations_of_a_step, int64_t steps, double& best) {
  const auto begin = std::chrono::steady_clock::now();
  loop(steps);
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  best = std::max(best, operations_of_a_step * static_cast<double>(steps) / s * 1e-9);
}

}  // namespace

ProductRates measure_product_rates() {
  constexpr int kTurns = 7;
  constexpr double kChains = kPeakAccumulators;
  constexpr int64_t kSteps = 1 << 14;  // × 12 chains: ≈ 50 µs at one instruction a cycle
  ProductRates r;
  for (int i = 0; i < kTurns; ++i) {
    if (detected_isa() == Isa::avx512) {
      time(peak_f32_avx512, 32 * kChains, kSteps, r.fma);
      if (has_bf16_products(Bf16Products::vdpbf16)) time(peak_bf16_avx512bf16, 64 * kChains, kSteps, r.vdpbf16);
      if (__builtin_cpu_supports("avx512vnni")) time(peak_int8_avx512vnni, 128 * kChains, kSteps, r.vnni);
    } else if (detected_isa() == Isa::avx2) {
      time(peak_f32_avx2, 16 * kChains, kSteps, r.fma);
    }
    if (has_amx()) {
      time(peak_bf16_amx, kPeakAmxBf16, kSteps / 8, r.amx_bf16);
      time(peak_int8_amx, kPeakAmxInt8, kSteps / 8, r.amx_int8);
    }
  }
  return r;
}

}  // namespace quern::kernels
