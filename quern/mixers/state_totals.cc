// One pass over all parts of all sites.
#include "quern/mixers/state_totals.h"

namespace quern::mixers {

StateTotals state_totals(const std::vector<StateSite>& sites) {
  StateTotals t;
  for (const StateSite& s : sites) {
    t.row_bytes += s.spec.bytes_per_token(), t.fixed_bytes += s.spec.fixed_bytes();
    for (const StatePart& p : s.spec.parts)
      if (!p.per_token) t.fixed = true, t.snapshots_inside = t.snapshots_inside && p.snapshots_inside;
  }
  return t;
}

}  // namespace quern::mixers
