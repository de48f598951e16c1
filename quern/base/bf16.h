// bf16: the upper half of an f32. Rounds to nearest even; NaN stays NaN.
#pragma once
#include <bit>
#include <cstdint>

namespace quern {

struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  explicit bf16(float f) {
    uint32_t u = std::bit_cast<uint32_t>(f);
    if ((u & 0x7fffffffu) > 0x7f800000u)
      bits = static_cast<uint16_t>((u >> 16) | 0x40);
    else
      bits = static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};
static_assert(sizeof(bf16) == 2);

}  // namespace quern
