// Wilson score interval of a proportion `right` of `all`, at 95 %.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace quern::reason {

struct Interval {
  double low = 0, high = 1;
};

inline Interval wilson(int64_t right, int64_t all, double z = 1.959964) {
  if (all == 0) return {};
  const double n = static_cast<double>(all), p = static_cast<double>(right) / n, zz = z * z / n;
  const double middle = (p + zz / 2) / (1 + zz), half = z / (1 + zz) * std::sqrt(p * (1 - p) / n + zz / (4 * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

}  // namespace quern::reason
