// The checksum of gzip and of Parquet's pages, by zlib (deflate.cc): about 1 GB/s.
#pragma once
#include <cstdint>
#include <string_view>

namespace quern::corpus {

uint32_t crc32_of(std::string_view bytes);

}  // namespace quern::corpus
