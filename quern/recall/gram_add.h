// A row's products with the rows held: for each of its columns, value times what the rows of the column have, added
// to their sums. A product and an addition each, never fused: the sums are row_dot's to the bit.
//   runs: a column's postings among the rows held, [from, until) of `place` and `other`; entry: the row's columns
//   among the runs.
// Cost: four instructions a product where they have three operands (AVX), seven where not.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace quern {

struct GramRun {
  uint32_t from, until, end;  // end: of the column
};

struct GramRow {
  const uint32_t* entry;
  const float* value;
  size_t size;
};

using GramAdd = size_t (*)(float* sums, const GramRow& row, const GramRun* runs, const uint16_t* place,
                           const float* other);  // → how many products
size_t gram_add_ref(float* sums, const GramRow& row, const GramRun* runs, const uint16_t* place, const float* other);
size_t gram_add_avx2(float* sums, const GramRow& row, const GramRun* runs, const uint16_t* place, const float* other);
GramAdd gram_add();  // for active_isa()

// The loop, compiled for each instruction set under a type of its own.
template <class Isa>
size_t gram_add_row(float* sums, const GramRow& row, const GramRun* runs, const uint16_t* place, const float* other) {
  size_t products = 0;
  for (size_t i = 0; i < row.size; ++i) {
    const float v = row.value[i];
    const GramRun run = runs[row.entry[i]];
    products += run.until - run.from;
    const GramRun next = i + 1 < row.size ? runs[row.entry[i + 1]] : run;
    if (next.until - next.from > 8) {  // runs are short, and no machine foresees where the next one lies
      for (const uint32_t at : {next.from, next.from + 32}) __builtin_prefetch(place + at);
      for (const uint32_t at : {next.from, next.from + 16, next.from + 32}) __builtin_prefetch(other + at);
    }
#pragma GCC unroll 4
    for (size_t k = run.from; k < run.until; ++k) sums[place[k]] += v * other[k];
  }
  return products;
}

}  // namespace quern
