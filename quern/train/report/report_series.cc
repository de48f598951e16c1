// Medians from a sorted window, means from prefix sums; everything else is one pass.
#include "quern/train/report/report_series.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/base/error.h"

namespace quern::train::report {

namespace {

// f(i, from, to) with the window [from, to) of every point.
template <class F>
void each_window(size_t n, size_t half, std::span<const size_t> begins, F&& f) {
  for (size_t i = 0, piece = 0; i < n; ++i) {
    if (piece + 1 < begins.size() && begins[piece + 1] <= i) ++piece;
    const size_t end = piece + 1 < begins.size() ? begins[piece + 1] : n, h = std::min(half, i / 3);
    f(i, std::max(begins[piece], i - h), std::min(end, i + h + 1));
  }
}

void moving_median(std::vector<Point>& p, size_t half, std::span<const size_t> begins) {
  std::vector<double> sorted, out(p.size());  // what the window holds, in order; both its ends only move forwards
  size_t have_from = 0, have_to = 0;
  each_window(p.size(), half, begins, [&](size_t i, size_t from, size_t to) {
    for (; have_to < to; ++have_to)
      if (const double v = p[have_to].y; std::isfinite(v))
        sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), v), v);
    for (; have_from < from; ++have_from)
      if (const double v = p[have_from].y; std::isfinite(v))
        sorted.erase(std::lower_bound(sorted.begin(), sorted.end(), v));
    const size_t n = sorted.size();
    out[i] = n == 0 ? std::numeric_limits<double>::quiet_NaN() : (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  });
  for (size_t i = 0; i < p.size(); ++i) p[i].y = out[i];
}

void moving_mean(std::vector<Point>& p, size_t half, std::span<const size_t> begins) {
  std::vector<double> sum(p.size() + 1, 0.0);
  std::vector<size_t> finite(p.size() + 1, 0);
  for (size_t i = 0; i < p.size(); ++i) {
    const bool is = std::isfinite(p[i].y);
    sum[i + 1] = sum[i] + (is ? p[i].y : 0.0);
    finite[i + 1] = finite[i] + is;
  }
  each_window(p.size(), half, begins, [&](size_t i, size_t from, size_t to) {
    const size_t n = finite[to] - finite[from];
    if (n > 0) p[i].y = (sum[to] - sum[from]) / static_cast<double>(n);
  });
}

}  // namespace

size_t smoothing_half(size_t n) { return n < 20 ? 0 : std::clamp<size_t>(n / 100, 1, 2000); }

std::vector<Point> smoothed(std::span<const Point> p, size_t half, std::span<const size_t> begins) {
  QUERN_CHECK(p.empty() || (!begins.empty() && begins[0] == 0));
  std::vector<Point> out(p.begin(), p.end());
  moving_median(out, half, begins);
  moving_mean(out, half / 2, begins);
  return out;
}

double quantile(std::vector<double> v, double q) {
  std::erase_if(v, [](double x) { return !std::isfinite(x); });
  if (v.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto at = v.begin() + static_cast<std::ptrdiff_t>(std::lround(q * static_cast<double>(v.size() - 1)));
  std::nth_element(v.begin(), at, v.end());
  return *at;
}

std::vector<double> round_ticks(double low, double high, int about) {
  QUERN_CHECK(low < high && about > 0, "{} {} {}", low, high, about);
  const double rough = (high - low) / about, power = std::pow(10.0, std::floor(std::log10(rough)));
  const double lead = rough / power, step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
  std::vector<double> t;
  // Multiplying a whole number keeps 0.3 from becoming 0.30000000000000004 and zero from becoming -0. The bound on i
  // is for values so large that adding one changes nothing.
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i < 10 * about && (first + i) * step <= high + 1e-9 * step; ++i)
    t.push_back((first + i) * step + 0.0);
  return t;
}

std::vector<double> log_ticks(double low, double high) {
  QUERN_CHECK(0 < low && low < high, "{} {}", low, high);
  const bool few = std::log10(high / low) < 3;
  std::vector<double> t;
  for (double power = std::pow(10.0, std::floor(std::log10(low))); power <= high && std::isfinite(power); power *= 10)
    for (double lead : {1.0, 2.0, 5.0})
      if (const double v = lead * power; (few || lead == 1) && v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9))
        t.push_back(v);
  return t;
}

std::vector<Point> thinned(std::span<const Point> p, double cell) {
  std::vector<Point> out;
  for (size_t i = 0; i < p.size();) {
    if (!std::isfinite(p[i].y)) {
      out.push_back(p[i++]);
      continue;
    }
    size_t end = i, low = i, high = i;
    for (const double column = std::floor(p[i].x / cell);
         end < p.size() && std::isfinite(p[end].y) && std::floor(p[end].x / cell) == column; ++end) {
      if (p[end].y < p[low].y) low = end;
      if (p[end].y > p[high].y) high = end;
    }
    size_t keep[] = {i, std::min(low, high), std::max(low, high), end - 1};
    for (size_t k = 0; k < 4; ++k)
      if (k == 0 || keep[k] != keep[k - 1]) out.push_back(p[keep[k]]);
    i = end;
  }
  return out;
}

std::string plain_text(double v, int digits) {
  if (!std::isfinite(v)) return "—";
  const double size = std::abs(v);
  if (size != 0 && (size < 1e-4 || size >= 1e6)) {
    std::string text = fmt::format("{:.{}g}", v, digits);
    if (const size_t e = text.find("e-0"); e != text.npos) text.erase(e + 2, 1);
    return text;
  }
  const int before = size == 0 ? 1 : static_cast<int>(std::floor(std::log10(size))) + 1;
  return fmt::format("{:.{}f}", v, std::max(0, digits - before));
}

std::string count_text(double v, int digits) {
  if (!std::isfinite(v)) return "—";
  constexpr const char* kSuffix[] = {"", " k", " M", " B", " T"};
  size_t s = 0;
  for (; std::abs(v) >= 999.5 && s + 1 < std::size(kSuffix); ++s) v /= 1000;
  std::string text = s == 0 && v == std::round(v) ? fmt::format("{:.0f}", v) : plain_text(v, digits);
  if (text.find('.') != text.npos && text.find('e') == text.npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return text + kSuffix[s];
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds)) return "—";
  if (seconds < 1) return fmt::format("{} ms", plain_text(seconds * 1e3));
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto s = static_cast<int64_t>(std::llround(seconds));
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
  return fmt::format("{} d {} h", s / 86400, s % 86400 / 3600);
}

}  // namespace quern::train::report
