// Products of a row for any machine, and dispatch.
#include "quern/base/cpu.h"
#include "quern/recall/graph/gram_add.h"

namespace quern::recall {
namespace {
struct AnyIsa {};
}  // namespace

size_t gram_add_ref(float* sums, std::span<const GramTerm> terms, const GramRuns& runs) {
  return gram_add_row<AnyIsa>(sums, terms, runs);
}

GramAdd gram_add() { return active_isa() == Isa::ref ? gram_add_ref : gram_add_avx2; }

}  // namespace quern::recall
