// Draws margins and scales, then from back to front: phases, grid, events, pale lines, stack, dark lines, dots, axis.
// Values above the axis (a spike) are marked by a small arrow at the upper edge instead of compressing everything
// else.
#include "quern/train/report/report_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/base/error.h"
#include "quern/html/html_template.h"

namespace quern::train::report {
namespace {

constexpr double kLeft = 52, kRight = 14, kTop = 24, kBottom = 34;

struct Scale {
  double low, high, from, to;  // value range, pixel range
  bool log;
  double operator()(double v) const {
    const double t = log ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low);
    return from + t * (to - from);
  }
  bool takes(double v) const { return std::isfinite(v) && (!log || v > 0); }
};

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double v) {
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  }
  bool empty() const { return low > high; }
};

template <class F>
void each_x(const Chart& c, F&& f) {
  for (const Line& l : c.lines)
    for (const Point& p : l.raw) f(p.x);
  for (const Dots& d : c.dots)
    for (const Point& p : d.points) f(p.x);
  for (const Layer& l : c.layers)
    for (const Point& p : l.points) f(p.x);
}

Scale x_scale(const Chart& c) {
  Range r;
  each_x(c, [&](double x) {
    if (!c.log_x || x > 0) r.add(x);
  });
  if (r.empty()) r.low = c.log_x ? 1 : 0, r.high = 1;
  if (!c.log_x) r.low = std::min(0.0, r.low);
  if (r.high <= r.low) r.high = r.low == 0 ? 1 : r.low * 1.1;
  return {r.low, r.high, kLeft, c.width - kRight, c.log_x};
}

// The 0.5 % most extreme single steps do not decide the axis, nor does the beginning where skip_start says so;
// smoothed lines, dots and stacks do.
Scale y_scale(const Chart& c, const Scale& x) {
  Range r;
  const double from = c.skip_start > 0 ? x.low + c.skip_start * (x.high - x.low) : -1;
  auto add = [&](double v) {
    if (!c.log_y || v > 0) r.add(v);
  };
  for (const Line& l : c.lines) {
    std::vector<double> v;
    for (const Point& p : l.raw)
      if (p.x >= from) v.push_back(p.y);
    add(quantile(v, 0.005)), add(quantile(v, 0.995));
    for (const Point& p : l.smooth)
      if (p.x >= from) add(p.y);
  }
  for (const Dots& d : c.dots)
    for (const Point& p : d.points)
      if (p.x >= from) add(p.y);
  if (!c.layers.empty())
    for (size_t i = 0; i < c.layers[0].points.size(); ++i) {
      double sum = 0;
      for (const Layer& l : c.layers) sum += l.points[i].y;
      add(sum);
    }
  if (c.from_zero || !c.layers.empty()) add(0);
  if (r.empty()) r.low = c.log_y ? 1 : 0, r.high = c.log_y ? 10 : 1;
  if (c.log_y) {
    if (r.high < 4 * r.low) r.low = r.low / 2, r.high = r.high * 2;
    return {r.low / 1.15, r.high * 1.15, c.height - kBottom, kTop, true};
  }
  if (r.high <= r.low) {
    const double half = r.high == 0 ? 1 : std::abs(r.high) * 0.1;
    r.low -= c.from_zero ? 0 : half, r.high += half;
  }
  const double pad = 0.05 * (r.high - r.low);
  return {c.from_zero || !c.layers.empty() ? r.low : r.low - pad, r.high + pad, c.height - kBottom, kTop, false};
}

// Ticks of one axis need the same number of decimals: as many as their step has.
std::string tick_text(double v, double step, bool counts) {
  if (counts) return count_text(v, 6);
  if (step == 0) return count_text(v, 6);  // logarithmic
  if (v == 0) return "0";
  if (step < 1e-4 || std::abs(v) >= 1e6) return plain_text(v, 4);
  return fmt::format("{:.{}f}", v, std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9))));
}

std::string path_of(const std::vector<Point>& p, const Scale& x, const Scale& y, double cell) {
  std::vector<Point> at;
  at.reserve(p.size());
  for (const Point& q : p)
    if (x.takes(q.x)) at.push_back({x(q.x), y.takes(q.y) ? y(q.y) : std::numeric_limits<double>::quiet_NaN()});
  std::string d;
  int in_piece = 0;  // points since the pen went down; a lone one becomes a dot
  for (const Point& q : thinned(at, cell)) {
    if (std::isfinite(q.y)) d += fmt::format("{}{:.1f} {:.2f}", in_piece++ ? "L" : "M", q.x, q.y);
    if (std::isfinite(q.y)) continue;
    if (in_piece == 1) d += "h0";
    in_piece = 0;
  }
  return in_piece == 1 ? d + "h0" : d;
}

std::string bands_svg(const Chart& c, const Scale& x) {
  std::string s;
  for (size_t i = 0; i < c.bands.size(); ++i) {
    const Band& b = c.bands[i];
    const double from = x.takes(b.from) && b.from > x.low ? x(b.from) : x.from, to = std::min(x.to, x(b.to));
    if (!x.takes(b.to) || to <= from) continue;
    s +=
        fmt::format(R"~(<rect class="band{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}"><title>{}</title></rect>)~",
                    i % 2, from, kTop, to - from, c.height - kTop - kBottom, html::escape_html(b.name));
    if (to - from > 6.4 * static_cast<double>(b.name.size()) + 6)
      s += fmt::format(R"~(<text class="band-name" x="{:.1f}" y="{}">{}</text>)~", from + 1, kTop - 7,
                       html::escape_html(b.name));
  }
  return s;
}

std::string axes_svg(const Chart& c, const Scale& x, const Scale& y) {
  std::string s;
  const double bottom = c.height - kBottom;
  const std::vector<double> ys =
      c.log_y ? log_ticks(y.low, y.high) : round_ticks(y.low, y.high, c.height > 300 ? 7 : 4);
  const double y_step = c.log_y || ys.size() < 2 ? 0 : ys[1] - ys[0];
  for (double v : ys)
    s += fmt::format(R"~(<path class="rule" d="M{} {:.1f}H{}"/><text class="tick y" x="{}" y="{:.1f}">{}{}</text>)~",
                     kLeft, y(v), c.width - kRight, kLeft - 7, y(v) + 4, tick_text(v, y_step, c.counts), c.unit);
  s += fmt::format(R"~(<path class="axis" d="M{} {}H{}"/>)~", kLeft, bottom, c.width - kRight);
  const std::vector<double> xs =
      c.log_x ? log_ticks(x.low, x.high) : round_ticks(x.low, x.high, c.width > 700 ? 9 : 5);
  const double name_width = 6.2 * static_cast<double>(c.x_name.size()) + 6;
  for (double v : xs) {
    s += fmt::format(R"~(<path class="axis" d="M{0:.1f} {1}v4"/>)~", x(v), bottom);
    if (x(v) < c.width - kRight - name_width - 14)  // the axis' name stands at its end
      s += fmt::format(R"~(<text class="tick x" x="{:.1f}" y="{}">{}</text>)~", x(v), bottom + 18, count_text(v, 6));
  }
  s += fmt::format(R"~(<text class="tick end" x="{}" y="{}">{}</text>)~", c.width - kRight, bottom + 18,
                   html::escape_html(c.x_name));
  return s;
}

std::string marks_svg(const Chart& c, const Scale& x) {
  std::string s;
  for (const Mark& m : c.marks) {
    if (!x.takes(m.x) || m.x < x.low || m.x > x.high) continue;
    s += fmt::format(R"~(<g class="mark" style="color:var(--k{})"><title>{}: {}</title><path d="M{:.1f} {}V{}"/>)~"
                     R"~(<circle cx="{:.1f}" cy="{}" r="4"/></g>)~",
                     kind_color(m.kind), html::escape_html(m.kind), html::escape_html(m.text), x(m.x), kTop - 6,
                     c.height - kBottom, x(m.x), kTop - 10);
  }
  return s;
}

std::string lines_svg(const Chart& c, const Scale& x, const Scale& y) {
  std::string s;
  for (const Line& l : c.lines)
    s +=
        fmt::format(R"~(<path class="{}" style="stroke:var(--c{})" data-name="{}" d="{}"/>)~",
                    l.smooth.empty() ? "line" : "raw", l.color, html::escape_html(l.name), path_of(l.raw, x, y, 1.2));
  for (const Line& l : c.lines)
    if (!l.smooth.empty())
      s += fmt::format(R"~(<path class="line" style="stroke:var(--c{})" data-name="{}" d="{}"/>)~", l.color,
                       html::escape_html(l.name), path_of(l.smooth, x, y, 2));
  return s;
}

// Arrows where single steps leave the axis upwards, one a cell; the beginning may leave it.
std::string arrows_svg(const Chart& c, const Scale& x, const Scale& y) {
  std::string s;
  for (const Line& l : c.lines) {
    double last = -1e9;
    for (const Point& p : l.raw) {
      const bool beginning = c.skip_start > 0 && p.x < x.low + c.skip_start * (x.high - x.low);
      if (!x.takes(p.x) || !(p.y > y.high) || beginning || x(p.x) < last + 8) continue;
      last = x(p.x);
      s += fmt::format(R"~(<path class="above" style="fill:var(--c{})" d="M{:.1f} {}l4 7h-8z">)~"
                       R"~(<title>{} at {} {}, above the axis</title></path>)~",
                       l.color, last, kTop + 1, plain_text(p.y), count_text(p.x, 4), html::escape_html(c.x_name));
    }
  }
  return s;
}

std::string layers_svg(const Chart& c, const Scale& x, const Scale& y) {
  if (c.layers.empty()) return "";
  std::vector<Point> below = c.layers[0].points;
  for (Point& p : below) p.y = 0;
  std::string s;
  for (const Layer& l : c.layers) {
    std::vector<Point> top = below;
    for (size_t i = 0; i < top.size(); ++i) top[i].y += l.points[i].y;
    std::string d;
    for (size_t i = 0; i < top.size(); ++i)
      d += fmt::format("{}{:.1f} {:.2f}", i ? "L" : "M", x(top[i].x), y(top[i].y));
    for (size_t i = top.size(); i-- > 0;) d += fmt::format("L{:.1f} {:.2f}", x(below[i].x), y(below[i].y));
    s += fmt::format(R"~(<path class="layer" style="fill:var(--p{})" data-name="{}" data-n="{}" d="{}Z"/>)~", l.color,
                     html::escape_html(l.name), top.size(), d);
    below = std::move(top);
  }
  return s;
}

std::string dots_svg(const Chart& c, const Scale& x, const Scale& y) {
  std::string s;
  for (const Dots& d : c.dots) {
    s += fmt::format(R"~(<path class="dotline" style="stroke:var(--c{})" clip-path="url(#{}-clip)" d="{}"/>)~",
                     d.color, c.id, path_of(d.points, x, y, 1e-3));
    s += fmt::format(R"~(<g class="dots" data-name="{}">)~", html::escape_html(d.name));
    for (const Point& p : d.points)
      if (x.takes(p.x) && y.takes(p.y) && p.y <= y.high)
        s += fmt::format("<g><title>{}: {}{} at {} {}</title>{}</g>", html::escape_html(d.name), plain_text(p.y, 4),
                         c.unit, count_text(p.x, 4), html::escape_html(c.x_name),
                         dot_shape(d.shape, x(p.x), y(p.y), d.color));
    s += "</g>";
  }
  return s;
}

}  // namespace

std::string dot_shape(int shape, double x, double y, int color) {
  constexpr const char* kShapes[] = {"m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z", "m-3.2 -3.2h6.4v6.4h-6.4z",
                                     "m0 -4.4l4.2 7.4h-8.4z", "m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z"};
  return fmt::format(R"~(<path class="dot" style="fill:var(--c{})" d="M{:.1f} {:.2f}{}"/>)~", color, x, y,
                     kShapes[static_cast<size_t>(shape) % std::size(kShapes)]);
}

int kind_color(std::string_view event) {
  if (event == "spike" || event == "slow") return 0;
  if (event == "rollback" || event == "nan" || event == "stop") return 1;
  return event == "restart" || event == "resume" ? 2 : 3;
}

std::string svg(const Chart& c) {
  const Scale x = x_scale(c), y = y_scale(c, x);
  std::string s = fmt::format(
      R"~(<svg class="chart" viewBox="0 0 {} {}" role="img" data-x="{},{},{},{},{}" data-y="{},{},{},{},{}" )~"
      R"~(data-unit="{}" data-counts="{}" data-xname="{}">)~",
      c.width, c.height, x.log ? 1 : 0, x.low, x.high, x.from, x.to, y.log ? 1 : 0, y.low, y.high, y.from, y.to,
      html::escape_html(c.unit), c.counts ? 1 : 0, html::escape_html(c.x_name));
  s += fmt::format(R"~(<clipPath id="{}-clip"><rect x="{}" y="{}" width="{}" height="{}"/></clipPath>)~", c.id,
                   kLeft - 1, kTop - 1, c.width - kLeft - kRight + 2, c.height - kTop - kBottom + 2);
  s += bands_svg(c, x) + axes_svg(c, x, y) + marks_svg(c, x);
  s += fmt::format(R"~(<g clip-path="url(#{}-clip)">)~", c.id) + layers_svg(c, x, y) + lines_svg(c, x, y) + "</g>";
  s += arrows_svg(c, x, y) + dots_svg(c, x, y);
  return s + R"~(<path class="guide"/></svg>)~";
}

}  // namespace quern::train::report
