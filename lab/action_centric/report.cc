#include "lab/action_centric/report.h"

#include <algorithm>
#include <cmath>

#include "lab/action_centric/blahut_arimoto.h"
#include "quern/base/error.h"
#include "quern/train/report/report.h"
#include "quern/train/report/report_chart.h"

namespace quern {
namespace {

constexpr CodeLoss kLosses[] = {CodeLoss::reconstruction, CodeLoss::action, CodeLoss::bottleneck};
constexpr int kColors[] = {4, 0, 2}, kFloorColor = 7;  // of the page's variables --c0 …
constexpr const char* kClassColors[] = {"#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f",
                                        "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#7f7f7f"};

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
report::Chart rate_chart(const CodeReport& r, const char* id, F&& value) {
  report::Chart c;
  c.id = id, c.x_name = "bits";
  for (size_t k = 0; k < std::size(kLosses); ++k) {
    report::Line line{code_loss_name(kLosses[k]), kColors[k], {}, {}};
    for (const ReportedCode* code : by_rate(r, kLosses[k]))
      if (const double y = value(*code); std::isfinite(y)) line.raw.push_back({code->figures.bits, y});
    if (line.raw.empty()) continue;
    c.dots.push_back({line.name, kColors[k], static_cast<int>(k), line.raw});
    c.lines.push_back(std::move(line));
  }
  return c;
}

std::string key_of(const report::Chart& c) {
  std::string s = "<p class=\"key\">";
  for (const report::Line& l : c.lines)
    s += fmt::format("<span><i style=\"background:var(--c{})\"></i>{}</span>", l.color, report::escaped(l.name));
  return s + "</p>";
}

std::string figure(const std::string& title, const std::string& unit, const report::Chart& c) {
  return fmt::format("<figure><figcaption>{}<span>{}</span></figcaption>{}{}</figure>\n", title, unit, key_of(c),
                     report::svg(c));
}

std::string curves(const CodeReport& r) {
  report::Chart right = rate_chart(r, "right", [](const ReportedCode& c) { return c.figures.accuracy; });
  right.from_zero = true;
  double maximum = 0;
  for (const ReportedCode& c : r.codes) maximum = std::max(maximum, c.figures.accuracy);
  report::Line minimum{fmt::format("least for {} answers", r.classes), kFloorColor, {}, {}};
  const double chance = 1 / static_cast<double>(r.classes);
  for (int i = 0; i <= 60; ++i) {
    const double a = chance + (maximum - chance) * i / 60;
    minimum.raw.push_back({min_query_rate(r.classes, a), a});
  }
  right.lines.push_back(std::move(minimum));
  report::Chart lost = rate_chart(r, "lost", [](const ReportedCode& c) {
    return c.loss == CodeLoss::bottleneck ? std::nan("") : c.figures.squared_error;
  });
  lost.log_y = true;
  return "<div class=\"grid\">" + figure("Right about the question", "share, by the rate of the code", right) +
         figure("Squared error", "an image, by the rate of the code", lost) + "</div>\n";
}

std::string strip(std::span<const float> pictures, int64_t pixels, const std::string& name) {
  const int64_t side = side_of(pixels), n = static_cast<int64_t>(pictures.size()) / pixels;
  std::string s = fmt::format("<svg class=\"strip\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
                              n * (side + 1) - 1, side, report::escaped(name));
  for (int64_t i = 0; i < n; ++i)
    s += pixels_svg(pictures.subspan(static_cast<size_t>(i * pixels), static_cast<size_t>(pixels)),
                    static_cast<double>(i * (side + 1)), 0);
  return s + "</svg>";
}

std::string name_of_code(const ReportedCode& c) { return fmt::format("{}, β {:g}", code_loss_name(c.loss), c.beta); }

std::string pictures(const CodeReport& r) {
  std::string s = "<h2>What pictures become</h2><table class=\"codes\"><tbody>";
  s += fmt::format("<tr><th>as they are</th><td></td><td></td><td>{}</td></tr>",
                   strip(r.shown, r.pixels, "originals"));
  for (CodeLoss loss : kLosses)
    for (const ReportedCode* c : by_rate(r, loss))
      if (!c->images.empty())
        s += fmt::format("<tr><th>{}</th><td>{:.1f} bits</td><td>{:.3f} right</td><td>{}</td></tr>", name_of_code(*c),
                         c->figures.bits, c->figures.accuracy, strip(c->images, r.pixels, name_of_code(*c)));
  return s + "</tbody></table>\n";
}

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
  std::string s = fmt::format("<svg class=\"plane\" viewBox=\"0 0 {0} {0}\" role=\"img\" aria-label=\"codes: {1}\">",
                              kSize, name_of_code(c));
  for (size_t k = 0; k < path.size(); ++k)
    if (!path[k].empty())
      s += fmt::format("<path d=\"{}\" stroke=\"{}\"/>", path[k], kClassColors[k % std::size(kClassColors)]);
  return fmt::format(
      "<figure><figcaption>{}<span>{:.1f} bits, {} of its dimensions in use</span></figcaption>{}</svg>"
      "</figure>\n",
      name_of_code(c), c.figures.bits, c.figures.active, s);
}

std::string planes(const CodeReport& r) {
  std::string s = fmt::format(
      "<h2>The codes</h2><p class=\"note\">Means of {} test images in the plane in which they differ most; a colour "
      "an "
      "answer.</p><p class=\"key\">",
      r.labels.size());
  for (int64_t k = 0; k < r.classes; ++k)
    s += fmt::format("<span><i style=\"background:{}\"></i>{}</span>",
                     kClassColors[static_cast<size_t>(k) % std::size(kClassColors)], k);
  s += "</p><div class=\"planes\">";
  for (CodeLoss loss : kLosses)
    for (const ReportedCode* c : by_rate(r, loss)) s += plane(r, *c);
  return s + "</div>\n";
}

std::string figures_table(const CodeReport& r) {
  std::string s =
      "<h2>Figures</h2><table class=\"runs\"><thead><tr><th>code</th><th>β</th><th>bits</th><th>I(X;Z)</th>"
      "<th>right</th><th>squared error</th><th>dimensions in use</th></tr></thead><tbody>";
  for (CodeLoss loss : kLosses)
    for (const ReportedCode* c : by_rate(r, loss)) {
      const CodeFigures& f = c->figures;
      s += fmt::format(
          "<tr><th>{}</th><td>{:g}</td><td>{:.2f}</td><td>{:.2f}</td><td>{:.3f}</td><td>{}</td><td>{}</td>"
          "</tr>",
          code_loss_name(loss), c->beta, f.bits, f.information, f.accuracy,
          loss == CodeLoss::bottleneck ? "—" : fmt::format("{:.2f}", f.squared_error), f.active);
    }
  return s + "</tbody></table>\n";
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
  std::string s = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>codes of {0}</title><style>{1}"
      ".strip{{display:block;width:100%;max-width:640px;shape-rendering:crispEdges}}\n"
      ".codes th,.codes td{{vertical-align:middle;white-space:nowrap}}.codes td:last-child{{width:100%}}\n"
      ".planes{{display:grid;grid-template-columns:repeat(auto-fill,minmax(230px,1fr));gap:14px}}\n"
      ".planes figcaption span{{display:block;margin:0}}\n"
      ".plane{{display:block;width:100%}}.plane path{{fill:none;stroke-width:3;stroke-linecap:round;opacity:.75}}\n"
      "</style></head><body><main><header><p>quern research action-centric curve</p></header><h1>Codes of {0}</h1>\n",
      report::escaped(r.data), report::style());
  s += "<div class=\"tiles\">";
  const auto tile = [&](const std::string& name, const std::string& value) {
    s += fmt::format("<div class=\"tile\"><span>{}</span><b>{}</b></div>", name, value);
  };
  tile("learnt from", fmt::format("{} images", r.train));
  tile("measured on", fmt::format("{} images", r.test));
  tile("the query, on originals", fmt::format("{:.3f} right", r.query_accuracy));
  tile("starts", fmt::format("{}", r.seeds));
  s += "</div>\n<p class=\"note\">A code is a normal draw around μ(x); its rate is the mean divergence from N(0, 1), "
       "an "
       "upper bound on what it tells of the picture. Grey: no code of that many bits can be right more often.</p>\n";
  s += curves(r) + pictures(r) + planes(r) + figures_table(r);
  return s +
         fmt::format("</main><div id=\"tip\" hidden></div>\n<script>{}</script></body></html>\n", report::script());
}

}  // namespace quern
