// Register-only loops, one per instruction set: `steps` steps of kPeakAccumulators independent chains, each as
// many lanes wide as a register. Enough chains to cover latency × throughput (4–6 cycles × 2 per cycle = 12 at most).
#pragma once
#include <cstdint>

namespace quern::kernels {

constexpr int kPeakAccumulators = 12;
// Both return something made of the results, so that nothing is optimized away; the caller counts
// steps · kPeakAccumulators · flops per instruction.
float peak_f32_avx512(int64_t steps);       // 32 flops each
float peak_bf16_avx512bf16(int64_t steps);  // 64
float peak_f32_avx2(int64_t steps);         // 16
// Products of bytes into sums of 32 bits; without vpdpbusd three instructions a step.
int peak_int8_avx512vnni(int64_t steps);  // 128 operations
int peak_int8_avx512(int64_t steps);      // 128
int peak_int8_avx2(int64_t steps);        // 64
// Tiles of AMX, which the caller must have: a step is four products of 16 × 16 × 32 values, or × 64 bytes.
constexpr double kPeakAmxBf16 = 4 * 2.0 * 16 * 16 * 32, kPeakAmxInt8 = 2 * kPeakAmxBf16;
float peak_bf16_amx(int64_t steps);
int peak_int8_amx(int64_t steps);

}  // namespace quern::kernels
