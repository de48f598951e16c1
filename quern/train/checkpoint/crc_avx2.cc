// The crc32 instruction of SSE4.2, which every AVX2 machine has.
#include <immintrin.h>

#include <cstring>

#include "quern/train/checkpoint/crc.h"

namespace quern::train {

uint32_t crc32c_avx2(const std::byte* x, size_t n, uint32_t crc) {
  uint64_t c = static_cast<uint32_t>(~crc);
  for (; n >= 8; n -= 8, x += 8) {
    uint64_t v;
    std::memcpy(&v, x, 8);
    c = _mm_crc32_u64(c, v);
  }
  auto r = static_cast<uint32_t>(c);
  for (; n > 0; --n, ++x) r = _mm_crc32_u8(r, static_cast<uint8_t>(*x));
  return ~r;
}

}  // namespace quern::train
