// The sum of some rows of a table of int8, as 32-bit numbers: sums[k] += Σ rows[bucket · width + k]. Width is a multiple
// of 16, at most 64.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace quern::corpus {

void add_rows(const int8_t* rows, size_t width, std::span<const uint32_t> buckets, int32_t* sums);
void add_rows_ref(const int8_t* rows, size_t width, std::span<const uint32_t> buckets, int32_t* sums);
void add_rows_avx2(const int8_t* rows, size_t width, std::span<const uint32_t> buckets, int32_t* sums);

}  // namespace quern::corpus
