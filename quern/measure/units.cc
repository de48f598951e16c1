#include "quern/measure/units.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace quern::measure {

std::string size_text(double bytes) {
  for (const auto& [size, unit] : {std::pair{1024.0 * 1024 * 1024, "GiB"}, {1024.0 * 1024, "MiB"}, {1024.0, "KiB"}})
    if (const double n = bytes / size; n >= 1)
      return fmt::format("{:.{}f} {}", n, n < 10 && n != std::floor(n) ? 1 : 0, unit);
  return fmt::format("{:.0f} B", bytes);
}

std::string time_text(double s) {
  if (s < 1e-6) return fmt::format("{:.0f} ns", s * 1e9);
  if (s < 1e-3) return fmt::format("{:.1f} us", s * 1e6);
  return s < 1 ? fmt::format("{:.2f} ms", s * 1e3) : fmt::format("{:.2f} s", s);
}

}  // namespace quern::measure
