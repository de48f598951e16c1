// CRC-32C (Castagnoli, reflected, as in iSCSI and ext4): the checksum of every chunk of a checkpoint. `crc` continues
// an earlier one. With the crc32 instruction 8 bytes take 3 cycles; the reference uses a table, byte by byte.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace quern::train {

uint32_t crc32c(std::span<const std::byte> x, uint32_t crc = 0);
uint32_t crc32c_ref(const std::byte* x, size_t n, uint32_t crc);
uint32_t crc32c_avx2(const std::byte* x, size_t n, uint32_t crc);

}  // namespace quern::train
