// The products of a row, with instructions of three operands.
#include "quern/recall/gram_add.h"

namespace quern {
namespace {
struct WithAvx2 {};
}  // namespace

size_t gram_add_avx2(float* sums, const GramRow& row, const GramRun* runs, const uint16_t* place,
                     const float* other) {
  return gram_add_row<WithAvx2>(sums, row, runs, place, other);
}

}  // namespace quern
