#include "quern/corpus/sketch/bands.h"

#include <cmath>

#include "quern/base/error.h"
#include "quern/corpus/bytes/hashing.h"

namespace quern::corpus {
namespace {

constexpr double kStep = 0.001;  // midpoint rule

template <class F>
double integral(F f, double from, double to) {
  double area = 0;
  for (double x = from; x < to; x += kStep) area += f(x + 0.5 * kStep) * kStep;
  return area;
}

}  // namespace

double collision_probability(double similarity, BandShape shape) {
  return 1 - std::pow(1 - std::pow(similarity, shape.rows), shape.bands);
}

BandAreas band_areas(double threshold, BandShape shape) {
  return {integral([&](double s) { return collision_probability(s, shape); }, 0, threshold),
          integral([&](double s) { return 1 - collision_probability(s, shape); }, threshold, 1)};
}

BandShape best_bands(double threshold, int rows, double false_positive_weight, double false_negative_weight) {
  if (!(threshold > 0 && threshold < 1)) fail("threshold {}: expected a number between 0 and 1", threshold);
  if (rows < 1) fail("{} rows: expected at least one", rows);
  BandShape best;
  double minimum = HUGE_VAL;
  for (int b = 1; b <= rows; ++b)
    for (int r = 1; b * r <= rows; ++r) {
      const BandAreas a = band_areas(threshold, {b, r});
      const double error = a.false_positive * false_positive_weight + a.false_negative * false_negative_weight;
      if (error < minimum) minimum = error, best = {b, r};
    }
  return best;
}

uint64_t band_key(std::span<const uint32_t> rows) {
  uint64_t h = kFoldA ^ rows.size();
  size_t i = 0;
  for (; i + 2 <= rows.size(); i += 2) h = fold64(h ^ (uint64_t{rows[i]} << 32 | rows[i + 1]), kFoldB);
  if (i < rows.size()) h = fold64(h ^ rows[i], kFoldC);
  return fold64(h ^ kFoldC, kFoldA);
}

}  // namespace quern::corpus
