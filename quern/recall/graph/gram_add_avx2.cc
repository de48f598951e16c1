// Products of a row, with three-operand instructions.
#include "quern/recall/graph/gram_add.h"

namespace quern::recall {
namespace {
struct WithAvx2 {};
}  // namespace

size_t gram_add_avx2(float* sums, std::span<const GramTerm> terms, const GramRuns& runs) {
  return gram_add_row<WithAvx2>(sums, terms, runs);
}

}  // namespace quern::recall
