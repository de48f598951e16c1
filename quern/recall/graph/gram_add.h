// Products of a row with the rows of a tile: for each of its terms, value times what the rows of the column have,
// added to their sums. One multiplication and one addition each, never fused: the sums equal row_dot's to the bit.
//   term i: entries [from[i.number], until[i.number]) of `place` and `other`. Four terms after a row's last are read
//           too, for prefetching; where rows are consecutive, those are the next row's.
// Cost: four instructions per product with three-operand instructions (AVX), seven without.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace quern::recall {

struct GramTerm {
  uint32_t number;
  float value;
};
inline constexpr size_t kGramAhead = 4;  // terms

struct GramRuns {
  const uint32_t *from, *until;
  const uint16_t* place;
  const float* other;
};

using GramAdd = size_t (*)(float* sums, std::span<const GramTerm> terms, const GramRuns& runs);  // → products
size_t gram_add_ref(float* sums, std::span<const GramTerm> terms, const GramRuns& runs);
size_t gram_add_avx2(float* sums, std::span<const GramTerm> terms, const GramRuns& runs);
GramAdd gram_add();  // for active_isa()

// The loop, compiled for each instruction set under a type of its own.
template <class Isa>
size_t gram_add_row(float* sums, std::span<const GramTerm> terms, const GramRuns& given) {
  const GramRuns runs = given;
  size_t products = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    // Runs are short, and no machine foresees where the next one lies.
    const uint32_t ahead = runs.from[terms.data()[i + kGramAhead].number];
    for (const uint32_t line : {0, 32}) __builtin_prefetch(runs.place + ahead + line);
    for (const uint32_t line : {0, 16, 32}) __builtin_prefetch(runs.other + ahead + line);
    const float v = terms[i].value;
    const uint32_t from = runs.from[terms[i].number], until = runs.until[terms[i].number];
    products += until - from;
#pragma GCC unroll 4
    for (size_t k = from; k < until; ++k) sums[runs.place[k]] += v * runs.other[k];
  }
  return products;
}

}  // namespace quern::recall
