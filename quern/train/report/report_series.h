// Numeric helpers of the report: smoothing, quantiles, round ticks, thinning to screen resolution, and number
// formatting. Values that are not finite are gaps.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace quern::train::report {

struct Point {
  double x, y;
};

// Centered median over ±half steps, so that one spike leaves no trace, then a centered mean over half of that. Within
// pieces (phases) that begin at `begins`, whose first is 0: a jump between two stays a jump. Near the very beginning
// the window shrinks to ±i/3, so that the steep fall of a loss is neither delayed nor flattened; at a piece's ends it
// is cut.
std::vector<Point> smoothed(std::span<const Point> p, size_t half, std::span<const size_t> begins);
size_t smoothing_half(size_t n);  // 1 % of the steps on each side, at most 2000; none below 20 steps

double quantile(std::vector<double> v, double q);  // of the finite ones; not a number when there is none

// Multiples of 1, 2 or 5 times a power of ten within [low, high], about `about` of them.
std::vector<double> round_ticks(double low, double high, int about);
// Powers of ten; with 2 and 5 times them where few powers lie within. Needs 0 < low.
std::vector<double> log_ticks(double low, double high);

// At most four points a cell of `cell` along x: first, lowest, highest, last, so that no peak is lost. x must not
// fall.
std::vector<Point> thinned(std::span<const Point> p, double cell);

// 12300 → "12.3 k", 2.5e9 → "2.5 B": `digits` significant ones.
std::string count_text(double v, int digits = 3);
std::string plain_text(double v, int digits = 3);  // no exponent between 1e-4 and 1e6
std::string duration_text(double seconds);         // "38 min 12 s"

}  // namespace quern::train::report
