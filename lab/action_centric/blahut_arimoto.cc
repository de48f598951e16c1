#include "lab/action_centric/blahut_arimoto.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"

namespace quern::lab {
namespace {

void check(const FiniteSource& s) {
  double sum = 0;
  if (s.p.empty() || s.distortion.size() != s.p.size())
    fail("source: {} probabilities and {} rows of distortion", s.p.size(), s.distortion.size());
  for (size_t x = 0; x < s.p.size(); ++x) {
    sum += s.p[x];
    if (!(s.p[x] >= 0)) fail("source: probability {} is {}", x, s.p[x]);
    if (s.distortion[x].empty() || s.distortion[x].size() != s.distortion[0].size())
      fail("source: row {} of distortion has {} numbers, the first {}", x, s.distortion[x].size(),
           s.distortion[0].size());
    for (double d : s.distortion[x])
      if (!(d >= 0) || !std::isfinite(d)) fail("source: distortion {} in row {}", d, x);
  }
  if (std::abs(sum - 1) > 1e-9) fail("source: the probabilities add up to {}, expected 1", sum);
}

}  // namespace

RatePoint rate_at_slope(const FiniteSource& s, double beta) {
  check(s);
  const size_t nx = s.p.size(), ny = s.distortion[0].size();
  std::vector<double> q(ny, 1.0 / static_cast<double>(ny)), weight(ny), minimum(nx);
  for (size_t x = 0; x < nx; ++x) minimum[x] = *std::min_element(s.distortion[x].begin(), s.distortion[x].end());
  RatePoint out;
  for (int turn = 0; turn < 200000; ++turn) {
    std::fill(weight.begin(), weight.end(), 0.0);
    out = {};
    double log_z = 0;
    for (size_t x = 0; x < nx; ++x) {
      double z = 0;
      for (size_t y = 0; y < ny; ++y) z += q[y] * std::exp(-beta * (s.distortion[x][y] - minimum[x]));
      for (size_t y = 0; y < ny; ++y) {
        const double given = std::exp(-beta * (s.distortion[x][y] - minimum[x])) / z;
        weight[y] += s.p[x] * given;
        out.distortion += s.p[x] * q[y] * given * s.distortion[x][y];
      }
      log_z += s.p[x] * (std::log(z) - beta * minimum[x]);
    }
    // Between −Σ q·w·ln w and −ln max w lies what is still to be gained.
    double mean = 0, maximum = 0;
    for (size_t y = 0; y < ny; ++y) {
      if (weight[y] > 0) mean += q[y] * weight[y] * std::log(weight[y]);
      maximum = std::max(maximum, weight[y]);
    }
    out.bits = (-log_z - beta * out.distortion - mean) / std::log(2.0);
    for (size_t y = 0; y < ny; ++y) q[y] *= weight[y];
    if (std::log(maximum) - mean < 1e-12) break;
  }
  out.bits = std::max(out.bits, 0.0);
  return out;
}

double rate_at_distortion(const FiniteSource& s, double distortion) {
  check(s);
  double constant = INFINITY, none = 0;
  for (size_t y = 0; y < s.distortion[0].size(); ++y) {
    double d = 0;
    for (size_t x = 0; x < s.p.size(); ++x) d += s.p[x] * s.distortion[x][y];
    constant = std::min(constant, d);
  }
  for (size_t x = 0; x < s.p.size(); ++x)
    none += s.p[x] * *std::min_element(s.distortion[x].begin(), s.distortion[x].end());
  if (distortion < none) fail("distortion {}: the source allows no less than {}", distortion, none);
  if (distortion >= constant) return 0;
  double lo = 0, hi = 1;
  constexpr double kSteepest = 1e4;
  while (hi < kSteepest && rate_at_slope(s, hi).distortion > distortion) hi *= 2;
  for (int i = 0; i < 60; ++i) {
    const double mid = (lo + hi) / 2;
    (rate_at_slope(s, mid).distortion > distortion ? lo : hi) = mid;
  }
  const RatePoint p = rate_at_slope(s, hi);
  return p.bits - hi * (distortion - p.distortion) / std::log(2.0);  // along the tangent
}

double min_query_rate(int64_t k, double accuracy) {
  if (k < 2 || !(accuracy >= 0 && accuracy <= 1)) fail("{} answers, accuracy {}", k, accuracy);
  const double n = static_cast<double>(k), e = 1 - accuracy;
  if (accuracy <= 1 / n) return 0;
  double bits = std::log2(n) - e * std::log2(n - 1);
  for (double x : {e, 1 - e})
    if (x > 0) bits += x * std::log2(x);
  return bits;
}

}  // namespace quern::lab
