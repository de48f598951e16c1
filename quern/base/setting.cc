#include "quern/base/setting.h"

#include <fmt/format.h>

#include <cmath>

namespace quern {

std::string bounds_fault(const Bounds& r, double v) {
  if (!r.bounded()) return "";
  const bool low = !(r.above_min ? v > r.min : v >= r.min), high = !(v <= r.max);
  if (!low && !high) return "";
  if (std::isnan(v)) return "nan is not a number";
  if (r.min == Bounds::finite().min && r.max == Bounds::finite().max)
    return fmt::format("{} is not a finite number", v);
  if (low && r.above_min) return fmt::format("{} is not above {}", v, r.min);
  if (r.max == Bounds::kNone) return fmt::format("{} is below {}", v, r.min);
  if (r.min == -Bounds::kNone || r.above_min) return fmt::format("{} is above {}", v, r.max);
  return fmt::format("{} is outside {} to {}", v, r.min, r.max);
}

std::string bounds_text(const Bounds& r) {
  if (!r.bounded() || (r.min == Bounds::finite().min && r.max == Bounds::finite().max)) return "";
  if (r.max == Bounds::kNone) return fmt::format("{} {}", r.above_min ? ">" : "≥", r.min);
  if (r.min == -Bounds::kNone) return fmt::format("≤ {}", r.max);
  return r.above_min ? fmt::format("> {}, ≤ {}", r.min, r.max) : fmt::format("{} to {}", r.min, r.max);
}

}  // namespace quern
