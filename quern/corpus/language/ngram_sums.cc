#include "quern/corpus/language/ngram_sums.h"

#include "quern/base/cpu.h"

namespace quern::corpus {

void add_rows_ref(const int8_t* rows, size_t width, std::span<const uint32_t> buckets, int32_t* sums) {
  for (uint32_t b : buckets)
    for (size_t k = 0; k < width; ++k) sums[k] += rows[b * width + k];
}

void add_rows(const int8_t* rows, size_t width, std::span<const uint32_t> buckets, int32_t* sums) {
  active_isa() == Isa::ref ? add_rows_ref(rows, width, buckets, sums) : add_rows_avx2(rows, width, buckets, sums);
}

}  // namespace quern::corpus
