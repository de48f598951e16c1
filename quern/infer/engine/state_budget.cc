// What a sequence's state needs, from the declared parts of its sites.
#include "quern/infer/engine/state_budget.h"

#include "quern/infer/speculation/speculation.h"
#include "quern/mixers/state_totals.h"

namespace quern::infer {

StateBudget::StateBudget(const std::vector<mixers::StateSite>& sites, int64_t limit_bytes)
    : sites_(sites), limit_(limit_bytes) {
  const mixers::StateTotals totals = mixers::state_totals(sites);
  row_bytes_ = totals.row_bytes, fixed_bytes_ = totals.fixed_bytes;
}

int64_t StateBudget::need(int64_t rows, int64_t max_draft) const {
  const int64_t rollback_points = max_draft > 0 ? rollback_point_count(sites_, max_draft) : 0;
  return fixed_bytes_ * (1 + rollback_points) + row_bytes_ * rows;
}

}  // namespace quern::infer
