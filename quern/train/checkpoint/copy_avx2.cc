// Streaming stores of whole cache lines; both ends are copied normally.
#include <immintrin.h>

#include <cstring>

#include "quern/train/checkpoint/copy.h"

namespace quern::train {

void copy_past_cache_avx2(std::byte* dst, const std::byte* src, int64_t n) {
  const auto off = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst) % 64);
  int64_t i = off == 0 ? 0 : 64 - off;
  if (i > n) i = n;
  if (i > 0) std::memcpy(dst, src, static_cast<size_t>(i));
  for (; i + 64 <= n; i += 64) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + i), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + i + 32), b);
  }
  if (i < n) std::memcpy(dst + i, src + i, static_cast<size_t>(n - i));
  _mm_sfence();
}

}  // namespace quern::train
