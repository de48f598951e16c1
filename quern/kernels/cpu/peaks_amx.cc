// The peaks of tiles: blocks of 2 × 2 tiles over operands that change and lie in the first-level cache. A loop over
// constant registers would show a fifth more, at a clock that products do not run at.
#include <cstring>

#include "quern/kernels/cpu/amx.h"
#include "quern/kernels/cpu/peaks.h"

namespace quern::kernels {
namespace {

constexpr int64_t kSteps = 4;  // 16 KiB of operands

struct alignas(64) Operands {
  uint8_t a[kSteps * 2 * kAmxTile], b[kSteps * 2 * kAmxTile], c[4 * kAmxTile];
  Operands() : c{} {
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof a; i += 2) {  // bf16 between 1/4 and 1, of both signs
      x = x * 1664525u + 1013904223u;
      const auto value = static_cast<uint16_t>(0x3e80u + (x >> 24) + (x >> 23 & 1) * 0x8000u);
      std::memcpy(a + i, &value, 2), std::memcpy(b + (sizeof b - 2 - i), &value, 2);
    }
  }
};

void run(const AmxBlocks& blocks, int64_t steps, Operands& o) {
  AmxScope scope(amx_kernels_amx());
  for (int64_t s = 0; s < steps; s += kSteps)
    blocks.two_by_two({.a = o.a,
                       .a_strip = kAmxTile,
                       .a_step = 2 * kAmxTile,
                       .b = o.b,
                       .b_tile = kAmxTile,
                       .b_step = 2 * kAmxTile,
                       .b_row = 64,
                       .c = o.c,
                       .c_strip = 2 * kAmxTile,
                       .steps = kSteps});
}

}  // namespace

float peak_bf16_amx(int64_t steps) {
  Operands o;
  run(amx_kernels_amx().bf16, steps, o);
  float first;
  std::memcpy(&first, o.c, sizeof first);
  return first;
}

int peak_int8_amx(int64_t steps) {
  Operands o;
  run(amx_kernels_amx().bytes, steps, o);
  int first;
  std::memcpy(&first, o.c, sizeof first);
  return first;
}

}  // namespace quern::kernels
