// Memory totals of one sequence's state over all its sites, and whether snapshots can be taken inside a forward pass.
#pragma once
#include <cstdint>
#include <vector>

#include "quern/mixers/state.h"

namespace quern::mixers {

struct StateTotals {
  int64_t row_bytes = 0, fixed_bytes = 0;  // of one token's rows; of the fixed parts
  bool fixed = false;                      // some part is fixed
  bool snapshots_inside = true;  // every fixed part can be left inside a forward (StatePart::snapshots_inside)
};

StateTotals state_totals(const std::vector<StateSite>& sites);

}  // namespace quern::mixers
