// Least absolute relative deviations by iteratively reweighted least squares. That costs are not negative is met by
// fitting every subset of the amounts and keeping the best that has no negative cost: 15 subsets at most.
#include "quern/measure/time_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "quern/base/error.h"
#include "quern/host/bench.h"

namespace quern::measure {
namespace {

constexpr size_t kMaxAmounts = 4;
constexpr int kRounds = 100;
constexpr double kMinDeviation = 1e-4;  // below it residuals weigh alike

using Row = std::array<double, kMaxAmounts>;  // amounts over time, scaled: a perfect fit gives 1

// Weighted least squares by elimination with pivots; none where the columns depend on each other.
std::optional<Row> solve(std::span<const Row> rows, std::span<const double> weights, size_t n) {
  std::array<std::array<double, kMaxAmounts + 1>, kMaxAmounts> a{};
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t r = 0; r < n; ++r) {
      for (size_t c = 0; c < n; ++c) a[r][c] += weights[i] * rows[i][r] * rows[i][c];
      a[r][n] += weights[i] * rows[i][r];
    }
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t r = k + 1; r < n; ++r)
      if (std::abs(a[r][k]) > std::abs(a[pivot][k])) pivot = r;
    if (!(std::abs(a[pivot][k]) > 1e-12)) return std::nullopt;
    std::swap(a[k], a[pivot]);
    for (size_t r = 0; r < n; ++r) {
      if (r == k) continue;
      const double share = a[r][k] / a[k][k];
      for (size_t c = k; c <= n; ++c) a[r][c] -= share * a[k][c];
    }
  }
  Row x{};
  for (size_t k = 0; k < n; ++k) x[k] = a[k][n] / a[k][k];
  return x;
}

double deviation(const Row& row, const Row& costs) {
  double sum = 0;
  for (size_t k = 0; k < kMaxAmounts; ++k) sum += row[k] * costs[k];
  return std::abs(1 - sum);
}

struct Solution {
  Row costs{};
  double sum = std::numeric_limits<double>::infinity();  // of deviations
};

Solution minimize_deviations(std::span<const Row> rows, size_t n) {
  std::vector<double> weights(rows.size(), 1.0);
  Solution best;
  for (int round = 0; round < kRounds; ++round) {
    const std::optional<Row> x = solve(rows, weights, n);
    if (!x) break;
    double sum = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const double d = deviation(rows[i], *x);
      sum += d, weights[i] = 1 / std::max(d, kMinDeviation);
    }
    const bool negative = std::any_of(x->begin(), x->end(), [](double c) { return c < 0; });
    if (!negative && sum < best.sum) best = {*x, sum};
  }
  return best;
}

}  // namespace

TimeFit fit_times(std::span<const std::vector<double>> amounts, std::span<const double> seconds) {
  QUERN_CHECK(amounts.size() == seconds.size() && !amounts.empty(), "{} and {}", amounts.size(), seconds.size());
  const size_t n = amounts[0].size();
  QUERN_CHECK(n >= 1 && n <= kMaxAmounts, "{} amounts", n);
  Row scale{};  // columns of about the same length
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < seconds.size(); ++i) {
      QUERN_CHECK(amounts[i].size() == n && seconds[i] > 0);
      scale[k] = std::max(scale[k], amounts[i][k] / seconds[i]);
    }
  }
  TimeFit fit{std::vector<double>(n, 0.0), 0};
  double least = std::numeric_limits<double>::infinity();
  for (size_t subset = 1; subset < size_t{1} << n; ++subset) {
    std::vector<size_t> columns;
    for (size_t k = 0; k < n; ++k)
      if (subset >> k & 1 && scale[k] > 0) columns.push_back(k);
    std::vector<Row> rows(seconds.size(), Row{});
    for (size_t i = 0; i < rows.size(); ++i)
      for (size_t c = 0; c < columns.size(); ++c)
        rows[i][c] = amounts[i][columns[c]] / seconds[i] / scale[columns[c]];
    const Solution s = minimize_deviations(rows, columns.size());
    if (s.sum >= least) continue;
    least = s.sum;
    std::fill(fit.costs.begin(), fit.costs.end(), 0.0);
    for (size_t c = 0; c < columns.size(); ++c) fit.costs[columns[c]] = s.costs[c] / scale[columns[c]];
    std::vector<double> deviations;
    for (const Row& r : rows) deviations.push_back(deviation(r, s.costs));
    fit.deviation = host::median(std::move(deviations));
  }
  return fit;
}

double LinkFit::saturation_bytes(double share) const {
  return link.latency_s * link.bytes_per_s * share / (1 - share);
}

LinkFit fit_link(std::span<const TransferTime> times) {
  std::vector<std::vector<double>> amounts;
  std::vector<double> seconds;
  for (const TransferTime& t : times) amounts.push_back({1, t.bytes}), seconds.push_back(t.seconds);
  const TimeFit fit = fit_times(amounts, seconds);
  return {{fit.costs[0], fit.costs[1] > 0 ? 1 / fit.costs[1] : std::numeric_limits<double>::infinity()},
          fit.deviation};
}

}  // namespace quern::measure
