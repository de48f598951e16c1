// Copies into memory that is not read soon, with streaming stores: they bypass the cache and do not fetch the lines
// they overwrite.
#pragma once
#include <cstddef>
#include <cstdint>

namespace quern::train {

void copy_past_cache(std::byte* dst, const std::byte* src, int64_t n);
void copy_past_cache_avx2(std::byte* dst, const std::byte* src, int64_t n);

}  // namespace quern::train
