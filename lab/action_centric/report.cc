#include "lab/action_centric/report.h"

#include <algorithm>
#include <cmath>

#include "lab/action_centric/blahut_arimoto.h"
#include "quern/base/error.h"
#include "quern/html/html_template.h"
#include "quern/html/web_files.h"
#include "quern/train/report/report_chart.h"

namespace quern::lab {
namespace {

constexpr CodeLoss kLosses[] = {CodeLoss::reconstruction, CodeLoss::action, CodeLoss::bottleneck};
constexpr int kColors[] = {4, 0, 2}, kFloorColor = 7;  // of the page's variables --c0 …
constexpr const char* kClassColors[] = {"#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f",
                                        "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#7f7f7f"};

std::string part(std::string_view fragment, std::initializer_list<html::HtmlValue> values) {
  static const html::HtmlTemplate t(html::web_file("code_report.html"));
  return t.fill(fragment, values);
}

int64_t side_of(int64_t pixels) {
  const int64_t side = std::llround(std::sqrt(static_cast<double>(pixels)));
  QUERN_CHECK(side * side == pixels);
  return side;
}

std::vector<const ReportedCode*> by_rate(const CodeReport& r, CodeLoss loss) {
  std::vector<const ReportedCode*> out;
  for (const ReportedCode& c : r.codes)
    if (c.loss == loss) out.push_back(&c);
  std::sort(out.begin(), out.end(),
            [](const ReportedCode* a, const ReportedCode* b) { return a->figures.bits < b->figures.bits; });
  return out;
}

// Of one figure over the rate, a line a loss.
template <class F>
train::report::Chart rate_chart(const CodeReport& r, const char* id, F&& value) {
  train::report::Chart c;
  c.id = id, c.x_name = "bits";
  for (size_t k = 0; k < std::size(kLosses); ++k) {
    train::report::Line line{code_loss_name(kLosses[k]), kColors[k], {}, {}};
    for (const ReportedCode* code : by_rate(r, kLosses[k]))
      if (const double y = value(*code); std::isfinite(y)) line.raw.push_back({code->figures.bits, y});
    if (line.raw.empty()) continue;
    c.dots.push_back({line.name, kColors[k], static_cast<int>(k), line.raw});
    c.lines.push_back(std::move(line));
  }
  return c;
}

std::string figure(const std::string& title, const std::string& unit, const train::report::Chart& c) {
  std::string lines;
  for (const train::report::Line& l : c.lines)
    lines += part("key-line", {{"color", fmt::format("var(--c{})", l.color)}, {"name", l.name}});
  return part(
      "curve",
      {{"title", title}, {"unit", unit}, {"key", part("key", {{"lines", lines}})}, {"chart", train::report::svg(c)}});
}

std::string curves(const CodeReport& r) {
  train::report::Chart right = rate_chart(r, "right", [](const ReportedCode& c) { return c.figures.accuracy; });
  right.from_zero = true;
  double maximum = 0;
  for (const ReportedCode& c : r.codes) maximum = std::max(maximum, c.figures.accuracy);
  train::report::Line minimum{fmt::format("least for {} answers", r.classes), kFloorColor, {}, {}};
  const double chance = 1 / static_cast<double>(r.classes);
  for (int i = 0; i <= 60; ++i) {
    const double a = chance + (maximum - chance) * i / 60;
    minimum.raw.push_back({min_query_rate(r.classes, a), a});
  }
  right.lines.push_back(std::move(minimum));
  train::report::Chart lost = rate_chart(r, "lost", [](const ReportedCode& c) {
    return c.loss == CodeLoss::bottleneck ? std::nan("") : c.figures.squared_error;
  });
  lost.log_y = true;
  return figure("Right about the question", "share, by the rate of the code", right) +
         figure("Squared error", "an image, by the rate of the code", lost);
}

std::string strip(std::span<const float> pictures, int64_t pixels, const std::string& name) {
  const int64_t side = side_of(pixels), n = static_cast<int64_t>(pictures.size()) / pixels;
  std::string drawn;
  for (int64_t i = 0; i < n; ++i)
    drawn += pixels_svg(pictures.subspan(static_cast<size_t>(i * pixels), static_cast<size_t>(pixels)),
                        static_cast<double>(i * (side + 1)), 0);
  return part("strip", {{"width", n * (side + 1) - 1}, {"height", side}, {"name", name}, {"pictures", drawn}});
}

std::string name_of_code(const ReportedCode& c) { return fmt::format("{}, β {:g}", code_loss_name(c.loss), c.beta); }

std::string pictures(const CodeReport& r) {
  std::string rows = part("originals", {{"strip", strip(r.shown, r.pixels, "originals")}});
  for (CodeLoss loss : kLosses)
    for (const ReportedCode* c : by_rate(r, loss))
      if (!c->images.empty())
        rows += part("decoded", {{"code", name_of_code(*c)},
                                 {"bits", fmt::format("{:.1f}", c->figures.bits)},
                                 {"right", fmt::format("{:.3f}", c->figures.accuracy)},
                                 {"strip", strip(c->images, r.pixels, name_of_code(*c))}});
  return rows;
}

const char* class_color(size_t k) { return kClassColors[k % std::size(kClassColors)]; }

// Points of one class are one path of short strokes with round ends.
std::string plane(const CodeReport& r, const ReportedCode& c) {
  constexpr double kSize = 200, kEdge = 6;
  double maximum = 1e-12;
  for (double v : c.plane) maximum = std::max(maximum, std::abs(v));
  std::vector<std::string> path(static_cast<size_t>(r.classes));
  for (size_t i = 0; i < r.labels.size(); ++i) {
    const auto at = [&](double v) { return kSize / 2 + v / maximum * (kSize / 2 - kEdge); };
    path[static_cast<size_t>(r.labels[i])] +=
        fmt::format("M{:.1f} {:.1f}h0", at(c.plane[2 * i]), at(-c.plane[2 * i + 1]));
  }
  std::string points;
  for (size_t k = 0; k < path.size(); ++k)
    if (!path[k].empty()) points += part("points", {{"path", path[k]}, {"color", class_color(k)}});
  return part("plane", {{"code", name_of_code(c)},
                        {"bits", fmt::format("{:.1f}", c.figures.bits)},
                        {"active", c.figures.active},
                        {"size", kSize},
                        {"points", points}});
}

std::string planes(const CodeReport& r) {
  std::string s;
  for (CodeLoss loss : kLosses)
    for (const ReportedCode* c : by_rate(r, loss)) s += plane(r, *c);
  return s;
}

std::string figures_rows(const CodeReport& r) {
  std::string rows;
  for (CodeLoss loss : kLosses)
    for (const ReportedCode* c : by_rate(r, loss)) {
      const CodeFigures& f = c->figures;
      const std::string error = loss == CodeLoss::bottleneck ? "—" : fmt::format("{:.2f}", f.squared_error);
      rows += part("figures-row", {{"loss", code_loss_name(loss)},
                                   {"beta", fmt::format("{:g}", c->beta)},
                                   {"bits", fmt::format("{:.2f}", f.bits)},
                                   {"information", fmt::format("{:.2f}", f.information)},
                                   {"right", fmt::format("{:.3f}", f.accuracy)},
                                   {"error", error},
                                   {"active", f.active}});
    }
  return rows;
}

}  // namespace

std::string pixels_svg(std::span<const float> pixels, double x0, double y0) {
  constexpr int kGrays = 16;
  const int64_t side = side_of(static_cast<int64_t>(pixels.size()));
  const auto gray = [&](int64_t x, int64_t y) {
    const float v = std::clamp(pixels[static_cast<size_t>(y * side + x)], 0.0f, 1.0f);
    return static_cast<int>(std::lround(v * (kGrays - 1)));
  };
  std::vector<std::string> path(kGrays);
  for (int64_t y = 0; y < side; ++y)
    for (int64_t x = 0; x < side;) {
      const int g = gray(x, y);
      int64_t end = x + 1;
      while (end < side && gray(end, y) == g) ++end;
      path[static_cast<size_t>(g)] += fmt::format("M{:g} {:g}h{}v1h-{}z", x0 + static_cast<double>(x),
                                                  y0 + static_cast<double>(y), end - x, end - x);
      x = end;
    }
  std::string s;
  for (int g = 0; g < kGrays; ++g) {
    const int shade = 255 - 255 * g / (kGrays - 1);
    if (!path[static_cast<size_t>(g)].empty())
      s += fmt::format("<path fill=\"#{0:02x}{0:02x}{0:02x}\" d=\"{1}\"/>", shade, path[static_cast<size_t>(g)]);
  }
  return s;
}

std::vector<int64_t> one_of_each_class(const Images& images, int64_t maximum) {
  std::vector<int64_t> out;
  for (int64_t k = 0; k < std::min(images.classes, maximum); ++k) {
    const auto at = std::find(images.label.begin(), images.label.end(), static_cast<int>(k));
    if (at != images.label.end()) out.push_back(at - images.label.begin());
  }
  return out;
}

std::string code_report_html(const CodeReport& r) {
  std::string tiles, classes;
  const auto tile = [&](const char* name, const std::string& value) {
    tiles += part("tile", {{"name", name}, {"value", value}});
  };
  tile("trained on", fmt::format("{} images", r.train));
  tile("measured on", fmt::format("{} images", r.test));
  tile("the query, on originals", fmt::format("{:.3f} right", r.query_accuracy));
  tile("starts", fmt::format("{}", r.seeds));
  for (int64_t k = 0; k < r.classes; ++k)
    classes += part("key-line", {{"color", class_color(static_cast<size_t>(k))}, {"name", k}});
  return part("page", {{"data", r.data},
                       {"style", html::web_file("report.css")},
                       {"more_style", html::web_file("code_report.css")},
                       {"tiles", tiles},
                       {"curves", curves(r)},
                       {"pictures", pictures(r)},
                       {"points", r.labels.size()},
                       {"classes", classes},
                       {"planes", planes(r)},
                       {"figures", figures_rows(r)},
                       {"script", html::web_file("report.js")}}) +
         "\n";
}

}  // namespace quern::lab
