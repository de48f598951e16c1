// Where a curve over sizes is level and where it steps: the rate of a cache up to its size, then that of the next.
#pragma once
#include <span>
#include <vector>

namespace quern::measure {

struct SizePoint {
  double size = 0, value = 0;  // both above 0
};
struct Plateau {
  double from = 0, to = 0;  // sizes, both of its points; `to` is the knee, but for the last plateau
  double value = 0;         // median
};
// The cut into stretches of at least two points with the least Σ |ln value − ln median| and a price for every stretch:
// steps of less than about a sixth, and single points that stick out, make none. Points in order of size.
std::vector<Plateau> find_plateaus(std::span<const SizePoint> points);

}  // namespace quern::measure
