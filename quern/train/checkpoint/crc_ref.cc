// The definition: one table lookup per byte.
#include <array>

#include "quern/train/checkpoint/crc.h"

namespace quern::train {
namespace {

constexpr std::array<uint32_t, 256> table() {
  std::array<uint32_t, 256> t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? (c >> 1) ^ 0x82f63b78u : c >> 1;
    t[i] = c;
  }
  return t;
}
constexpr std::array<uint32_t, 256> kTable = table();

}  // namespace

uint32_t crc32c_ref(const std::byte* x, size_t n, uint32_t crc) {
  crc = ~crc;
  for (size_t i = 0; i < n; ++i) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint32_t>(x[i])) & 255];
  return ~crc;
}

}  // namespace quern::train
