// Time as a sum of costs: t = Σ cₖ·xₖ with cₖ ≥ 0, for example latency + bytes / bandwidth. The costs have the least sum
// of |t − fit| / t: every point counts by its relative error and none more than another, so that a share of disturbed
// measurements does not move them, and 8 bytes weigh as much as a gigabyte.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "quern/comm/network.h"

namespace quern::measure {

struct TimeFit {
  std::vector<double> costs;  // of one unit of each amount; 0 where the amount costs nothing that was seen
  double deviation = 0;       // median of |t − fit| / t
};
// amounts[i] belongs to seconds[i]; all have the same number of entries, 4 at most, and seconds are above 0.
TimeFit fit_times(std::span<const std::vector<double>> amounts, std::span<const double> seconds);

struct TransferTime {
  double bytes = 0, seconds = 0;
};
struct LinkFit {
  comm::Link link;  // bandwidth: infinite where time does not grow with the size
  double deviation = 0;
  // The least size that moves at this share of the bandwidth: β·α·share / (1 − share).
  double saturation_bytes(double share = 0.95) const;
};
LinkFit fit_link(std::span<const TransferTime> times);

}  // namespace quern::measure
