#include "lab/action_centric/probe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quern/base/error.h"

namespace quern::lab {
namespace {

size_t count(int64_t n) { return static_cast<size_t>(n); }

// a·x = b for k right-hand sides b [m, k], by elimination with pivots. A direction of which nothing is known (a pivot
// of zero) gets none.
std::vector<double> solve(std::vector<double> a, std::vector<double> b, int64_t m, int64_t k) {
  const double minimum =
      1e-12 *
      std::abs(*std::max_element(a.begin(), a.end(), [](double x, double y) { return std::abs(x) < std::abs(y); }));
  for (int64_t c = 0; c < m; ++c) {
    int64_t best = c;
    for (int64_t r = c + 1; r < m; ++r)
      if (std::abs(a[count(r * m + c)]) > std::abs(a[count(best * m + c)])) best = r;
    for (int64_t j = 0; j < m; ++j) std::swap(a[count(c * m + j)], a[count(best * m + j)]);
    for (int64_t j = 0; j < k; ++j) std::swap(b[count(c * k + j)], b[count(best * k + j)]);
    if (std::abs(a[count(c * m + c)]) <= minimum) continue;
    for (int64_t r = 0; r < m; ++r) {
      if (r == c) continue;
      const double f = a[count(r * m + c)] / a[count(c * m + c)];
      for (int64_t j = c; j < m; ++j) a[count(r * m + j)] -= f * a[count(c * m + j)];
      for (int64_t j = 0; j < k; ++j) b[count(r * k + j)] -= f * b[count(c * k + j)];
    }
  }
  for (int64_t c = 0; c < m; ++c)
    for (int64_t j = 0; j < k; ++j) {
      const double pivot = a[count(c * m + c)];
      b[count(c * k + j)] = std::abs(pivot) <= minimum ? 0 : b[count(c * k + j)] / pivot;
    }
  return b;
}

// Columns of the largest two eigenvalues of a symmetric matrix, by Jacobi's rotations.
std::vector<double> leading_pair(std::vector<double> a, int64_t d) {
  std::vector<double> v(count(d * d));
  for (int64_t i = 0; i < d; ++i) v[count(i * (d + 1))] = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0;
    for (int64_t p = 0; p < d; ++p)
      for (int64_t q = p + 1; q < d; ++q) {
        const double apq = a[count(p * d + q)];
        off += apq * apq;
        if (apq == 0) continue;
        const double theta = (a[count(q * d + q)] - a[count(p * d + p)]) / (2 * apq),
                     t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1)),
                     c = 1 / std::sqrt(t * t + 1), s = t * c;
        const auto turn = [&](double& x, double& y) {
          const double x0 = x;
          x = c * x0 - s * y, y = s * x0 + c * y;
        };
        for (int64_t i = 0; i < d; ++i) turn(a[count(i * d + p)], a[count(i * d + q)]);
        for (int64_t i = 0; i < d; ++i) turn(a[count(p * d + i)], a[count(q * d + i)]);
        for (int64_t i = 0; i < d; ++i) turn(v[count(i * d + p)], v[count(i * d + q)]);
      }
    if (off < 1e-30) break;
  }
  std::vector<int64_t> order(count(d));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t i, int64_t j) { return a[count(i * (d + 1))] > a[count(j * (d + 1))]; });
  std::vector<double> out;
  for (int k = 0; k < 2; ++k)
    for (int64_t i = 0; i < d; ++i) out.push_back(k < d ? v[count(i * d + order[count(k)])] : 0);
  return out;
}

std::vector<double> one_of(std::span<const int> label, int64_t classes) {
  std::vector<double> y(label.size() * count(classes));
  for (size_t i = 0; i < label.size(); ++i) y[i * count(classes) + count(label[i])] = 1;
  return y;
}

}  // namespace

std::vector<double> fit_linear(std::span<const float> x, int64_t d, std::span<const double> y, int64_t k) {
  const int64_t n = static_cast<int64_t>(x.size()) / d, m = d + 1;
  QUERN_CHECK(n > 0 && static_cast<int64_t>(x.size()) == n * d && static_cast<int64_t>(y.size()) == n * k);
  std::vector<double> a(count(m * m)), b(count(m * k)), row(count(m), 1.0);
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t i = 0; i < d; ++i) row[count(i)] = static_cast<double>(x[count(r * d + i)]);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < m; ++j) a[count(i * m + j)] += row[count(i)] * row[count(j)];
      for (int64_t j = 0; j < k; ++j) b[count(i * k + j)] += row[count(i)] * y[count(r * k + j)];
    }
  }
  const std::vector<double> s = solve(std::move(a), std::move(b), m, k);
  std::vector<double> out(s.size());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < k; ++j) out[count(j * m + i)] = s[count(i * k + j)];
  return out;
}

std::vector<double> apply_linear(std::span<const double> w, std::span<const float> x, int64_t d) {
  const int64_t n = static_cast<int64_t>(x.size()) / d, m = d + 1, k = static_cast<int64_t>(w.size()) / m;
  std::vector<double> y(count(n * k));
  for (int64_t r = 0; r < n; ++r)
    for (int64_t j = 0; j < k; ++j) {
      double sum = w[count(j * m + d)];
      for (int64_t i = 0; i < d; ++i) sum += w[count(j * m + i)] * static_cast<double>(x[count(r * d + i)]);
      y[count(r * k + j)] = sum;
    }
  return y;
}

double explained_share(std::span<const float> fit_x, std::span<const double> fit_y, std::span<const float> x,
                       std::span<const double> y, int64_t d) {
  const std::vector<double> told = apply_linear(fit_linear(fit_x, d, fit_y, 1), x, d);
  QUERN_CHECK(told.size() == y.size());
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
  double left = 0, all = 0;
  for (size_t i = 0; i < y.size(); ++i)
    left += (y[i] - told[i]) * (y[i] - told[i]), all += (y[i] - mean) * (y[i] - mean);
  return all == 0 ? 0 : 1 - left / all;
}

double probe_accuracy(std::span<const float> fit_x, std::span<const int> fit_label, std::span<const float> x,
                      std::span<const int> label, int64_t d) {
  const int64_t classes = 1 + *std::max_element(fit_label.begin(), fit_label.end());
  const std::vector<double> told = apply_linear(fit_linear(fit_x, d, one_of(fit_label, classes), classes), x, d);
  int64_t right = 0;
  for (size_t i = 0; i < label.size(); ++i) {
    const auto row = told.begin() + static_cast<std::ptrdiff_t>(i) * classes;
    right += std::max_element(row, row + classes) - row == label[i];
  }
  return static_cast<double>(right) / static_cast<double>(label.size());
}

std::vector<double> principal_plane(std::span<const float> x, int64_t d) {
  const int64_t n = static_cast<int64_t>(x.size()) / d;
  QUERN_CHECK(n > 0 && static_cast<int64_t>(x.size()) == n * d);
  std::vector<double> mean(count(d)), spread(count(d * d));
  for (int64_t r = 0; r < n; ++r)
    for (int64_t i = 0; i < d; ++i)
      mean[count(i)] += static_cast<double>(x[count(r * d + i)]) / static_cast<double>(n);
  const auto off = [&](int64_t r, int64_t i) { return static_cast<double>(x[count(r * d + i)]) - mean[count(i)]; };
  for (int64_t r = 0; r < n; ++r)
    for (int64_t i = 0; i < d; ++i)
      for (int64_t j = 0; j < d; ++j) spread[count(i * d + j)] += off(r, i) * off(r, j) / static_cast<double>(n);
  const std::vector<double> axes = leading_pair(spread, d);
  std::vector<double> out;
  for (int64_t r = 0; r < n; ++r)
    for (int64_t k = 0; k < 2; ++k) {
      double sum = 0;
      for (int64_t i = 0; i < d; ++i) sum += axes[count(k * d + i)] * off(r, i);
      out.push_back(sum);
    }
  return out;
}

}  // namespace quern::lab
