// 16 columns at a time in 16 bits, which hold 256 rows; those go into 32 bits.
#include <immintrin.h>

#include <algorithm>

#include "quern/corpus/language/ngram_sums.h"

namespace quern::corpus {
namespace {

constexpr size_t kRows = 256;

void spill(__m256i sum, int32_t* to) {
  const __m256i low = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(sum));
  const __m256i high = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(sum, 1));
  auto* at = reinterpret_cast<__m256i*>(to);
  _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), low));
  _mm256_storeu_si256(at + 1, _mm256_add_epi32(_mm256_loadu_si256(at + 1), high));
}

template <size_t N>  // columns / 16
void add_some(const int8_t* rows, std::span<const uint32_t> buckets, int32_t* sums) {
  for (size_t from = 0; from < buckets.size(); from += kRows) {
    __m256i sum[N];
    for (__m256i& s : sum) s = _mm256_setzero_si256();
    for (uint32_t b : buckets.subspan(from, std::min(kRows, buckets.size() - from))) {
      const auto* row = reinterpret_cast<const __m128i*>(rows + b * (16 * N));
      for (size_t k = 0; k < N; ++k)
        sum[k] = _mm256_add_epi16(sum[k], _mm256_cvtepi8_epi16(_mm_loadu_si128(row + k)));
    }
    for (size_t k = 0; k < N; ++k) spill(sum[k], sums + 16 * k);
  }
}

}  // namespace

void add_rows_avx2(const int8_t* rows, size_t width, std::span<const uint32_t> buckets, int32_t* sums) {
  switch (width / 16) {
    case 1:
      return add_some<1>(rows, buckets, sums);
    case 2:
      return add_some<2>(rows, buckets, sums);
    case 3:
      return add_some<3>(rows, buckets, sums);
    default:
      return add_some<4>(rows, buckets, sums);
  }
}

}  // namespace quern::corpus
