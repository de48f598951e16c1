// The grid, and the positions of one prompt.
#include "quern/infer/engine/snapshot_plan.h"

#include <algorithm>
#include <cmath>

namespace quern::infer {
namespace {

// A snapshot before the prompt's last token costs memory, or a forward of one row: only where it saves replaying more
// than this.
constexpr int64_t kWorthASnapshot = 32;
constexpr int64_t kFinestGrid = 64;  // a multiple of every snapshot alignment

}  // namespace

int64_t snapshot_grid(const SnapshotGridInput& in) {
  const double fixed = 4.0 * static_cast<double>(in.totals.fixed_bytes);
  double minimum = fixed * static_cast<double>(in.max_positions) / static_cast<double>(in.cache_bytes);
  if (in.totals.row_bytes > 0) minimum = std::min(minimum, fixed / static_cast<double>(in.totals.row_bytes));
  const int64_t unit = in.inside_steps ? std::min(in.chunk, kFinestGrid) : in.chunk;
  const double units = std::ceil(std::min(minimum, 1e12) / static_cast<double>(unit));
  return unit * std::max<int64_t>(1, static_cast<int64_t>(units));
}

SnapshotPositions plan_snapshots(const SnapshotRules& rules, int64_t prompt, const PrefixMatch& match,
                                 std::span<const int64_t> turn_ends) {
  SnapshotPositions out;
  const int64_t end = prompt - 1;
  if (rules.grid > 0)
    for (int64_t p = (match.cached / rules.grid + 1) * rules.grid; p <= end; p += rules.grid)
      out[p] = SnapshotKind::periodic;
  if (rules.chunk_ends_only) {
    if (const int64_t p = end / rules.chunk * rules.chunk; p > match.cached && rules.grid == 0)
      out[p] = SnapshotKind::turn_end;
    return out;
  }
  int64_t last = match.cached;
  const auto add = [&](int64_t p, SnapshotKind kind) { out[p] = kind, last = std::max(last, p); };
  for (const int64_t p : turn_ends)
    if (p > match.cached && p <= end) add(p, SnapshotKind::turn_end);
  if (match.matched - match.cached >= kWorthASnapshot && match.matched <= end)
    add(match.matched, SnapshotKind::branch);
  if (end - last >= kWorthASnapshot) add(end, SnapshotKind::turn_end);
  if (rules.any_position) std::erase_if(out, [&](const auto& point) { return point.first != end; });
  return out;
}

}  // namespace quern::infer
