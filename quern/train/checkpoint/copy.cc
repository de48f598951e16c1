#include "quern/train/checkpoint/copy.h"

#include <cstring>

#include "quern/base/cpu.h"

namespace quern::train {

void copy_past_cache(std::byte* dst, const std::byte* src, int64_t n) {
  if (active_isa() == Isa::ref)
    std::memcpy(dst, src, static_cast<size_t>(n));
  else
    copy_past_cache_avx2(dst, src, n);
}

}  // namespace quern::train
