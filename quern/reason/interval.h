// Wilson score interval of a proportion `right` of `all`, at 95 %.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace quern::reason {

struct Interval {
  double low = 0, high = 1;
};

inline Interval wilson_of_share(double p, double n, double z = 1.959964) {
  if (n == 0) return {};
  const double zz = z * z / n;
  const double middle = (p + zz / 2) / (1 + zz), half = z / (1 + zz) * std::sqrt(p * (1 - p) / n + zz / (4 * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

inline Interval wilson(int64_t right, int64_t all) {
  const double n = static_cast<double>(all);
  return wilson_of_share(all == 0 ? 0 : static_cast<double>(right) / n, n);
}

}  // namespace quern::reason
