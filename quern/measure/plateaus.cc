#include "quern/measure/plateaus.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/host/bench.h"

namespace quern::measure {
namespace {

constexpr double kPrice = 0.4;  // of a stretch, in units of ln
constexpr size_t kShortest = 2;

struct Stretch {
  double median = 0, cost = 0;
};

Stretch stretch(std::span<const SizePoint> points) {
  std::vector<double> logs;
  for (const SizePoint& p : points) logs.push_back(std::log(p.value));
  Stretch s{host::median(logs), kPrice};
  for (const double l : logs) s.cost += std::abs(l - s.median);
  return s;
}

}  // namespace

std::vector<Plateau> find_plateaus(std::span<const SizePoint> points) {
  const size_t n = points.size();
  if (n < kShortest) return {};
  std::vector<double> least(n + 1, std::numeric_limits<double>::infinity());  // of the first i points
  std::vector<size_t> begin(n + 1, 0);                                        // of the last stretch among them
  least[0] = 0;
  for (size_t end = kShortest; end <= n; ++end)
    for (size_t from = 0; from + kShortest <= end; ++from) {
      const double cost = least[from] + stretch(points.subspan(from, end - from)).cost;
      if (cost < least[end]) least[end] = cost, begin[end] = from;
    }
  std::vector<Plateau> all;
  for (size_t end = n; end > 0; end = begin[end]) {
    const auto part = points.subspan(begin[end], end - begin[end]);
    all.push_back({part.front().size, part.back().size, std::exp(stretch(part).median)});
  }
  std::reverse(all.begin(), all.end());
  return all;
}

}  // namespace quern::measure
