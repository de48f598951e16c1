#include "quern/corpus/sketch/bands.h"

#include <cmath>

#include "quern/base/error.h"
#include "quern/corpus/bytes/hashing.h"

namespace quern::corpus {
namespace {

// Gauss's rule with five nodes in each of some equal panels: the functions are polynomials, 1e-8 and better.
template <class F>
double integral(F f, double from, double to) {
  constexpr int kPanels = 24;
  constexpr double kNodes[] = {0, 0.5384693101056831, 0.9061798459386640};  // and their negatives
  constexpr double kWeights[] = {0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
  const double half = (to - from) / kPanels / 2;
  double area = 0;
  for (int p = 0; p < kPanels; ++p) {
    const double middle = from + (2 * p + 1) * half;
    area += kWeights[0] * f(middle);
    for (int i = 1; i < 3; ++i) area += kWeights[i] * (f(middle - half * kNodes[i]) + f(middle + half * kNodes[i]));
  }
  return area * half;
}

}  // namespace

double collision_probability(double similarity, BandShape shape) {
  return 1 - std::pow(1 - std::pow(similarity, shape.rows), shape.bands);
}

BandAreas band_areas(double threshold, BandShape shape) {
  return {integral([&](double s) { return collision_probability(s, shape); }, 0, threshold),
          integral([&](double s) { return 1 - collision_probability(s, shape); }, threshold, 1)};
}

BandShape best_bands(double threshold, int rows, double false_positive_weight) {
  if (!(threshold > 0 && threshold < 1)) fail("threshold {}: expected a number between 0 and 1", threshold);
  if (rows < 1) fail("{} rows: expected at least one", rows);
  BandShape best;
  double minimum = HUGE_VAL;
  for (int b = 1; b <= rows; ++b)
    for (int r = 1; b * r <= rows; ++r) {
      const BandAreas a = band_areas(threshold, {b, r});
      const double error = a.false_positive * false_positive_weight + a.false_negative * (1 - false_positive_weight);
      if (error < minimum) minimum = error, best = {b, r};
    }
  return best;
}

Json BandChoice::json(BandShape shape) const {
  const BandAreas areas = band_areas(threshold, shape);
  Json j = Json::object();
  j.set("threshold", threshold), j.set("false_positive_weight", false_positive_weight);
  j.set("false_positives", areas.false_positive), j.set("false_negatives", areas.false_negative);
  return j;
}

uint64_t band_key(std::span<const uint32_t> rows) {
  uint64_t h = kFoldA ^ rows.size();
  size_t i = 0;
  for (; i + 2 <= rows.size(); i += 2) h = fold64(h ^ (uint64_t{rows[i]} << 32 | rows[i + 1]), kFoldB);
  if (i < rows.size()) h = fold64(h ^ rows[i], kFoldC);
  return fold64(h ^ kFoldC, kFoldA);
}

}  // namespace quern::corpus
