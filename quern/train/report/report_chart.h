// One chart as inline SVG. Colors are CSS variables of the page (--c0 … for runs, --p0 … for parts of a step), so one
// drawing serves light and dark mode. Data attributes describe the axes to the page's script, which reads values back
// from the paths, so that nothing is written twice.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/train/report/report_series.h"

namespace quern::train::report {

struct Line {
  std::string name;
  int color = 0;
  std::vector<Point> raw, smooth;  // pale and dark; smooth may be empty
};
struct Dots {  // evaluations
  std::string name;
  int color = 0, shape = 0;
  std::vector<Point> points;
};
struct Band {  // a phase
  std::string name;
  double from, to;
};
struct Mark {  // an event
  double x;
  std::string kind, text;
};
struct Layer {  // of a stack, from below
  std::string name;
  int color = 0;
  std::vector<Point> points;  // the layer's own height
};

struct Chart {
  std::string id, x_name;
  std::string unit;  // after a value: "", "%", " ms"
  double width = 540, height = 236;
  bool log_x = false, log_y = false, from_zero = false, counts = false;  // counts: 12.3 k instead of 12300
  double skip_start = 0;  // share of x whose values may leave the y axis: the steep fall of a loss
  std::vector<Line> lines;
  std::vector<Dots> dots;
  std::vector<Layer> layers;
  std::vector<Band> bands;
  std::vector<Mark> marks;
};

std::string svg(const Chart& c);
std::string dot_shape(int shape, double x, double y, int color);
int kind_color(std::string_view event);  // index of --k0 … for a kind of event

}  // namespace quern::train::report
