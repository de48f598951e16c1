// Copying into memory that nobody reads soon: stores that pass the cache by and do not fetch the lines they
// overwrite.
#pragma once
#include <cstddef>
#include <cstdint>

namespace quern {

void copy_past_cache(std::byte* dst, const std::byte* src, int64_t n);

namespace kernels {
void copy_past_cache_avx2(std::byte* dst, const std::byte* src, int64_t n);
}

}  // namespace quern
