#include "quern/train/checkpoint/crc.h"

#include "quern/base/cpu.h"

namespace quern::train {

uint32_t crc32c(std::span<const std::byte> x, uint32_t crc) {
  const auto f = active_isa() == Isa::ref ? crc32c_ref : crc32c_avx2;
  return f(x.data(), x.size(), crc);
}

}  // namespace quern::train
