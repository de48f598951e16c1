// HTML report of a study: rate against accuracy and squared error, reconstructions under every code, and the codes in
// the plane in which they differ most.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/action_centric/study.h"

namespace quern::lab {

struct ReportedCode {
  CodeLoss loss = CodeLoss::reconstruction;
  double beta = 0;
  CodeFigures figures = {};        // means over starts
  std::vector<float> images = {};  // of the first start: the shown pictures, decoded; bottleneck: none
  std::vector<double> plane = {};  // of the first start: [points, 2]
};
struct CodeReport {
  std::string data;
  int64_t pixels = 0, classes = 0, seeds = 1, train = 0, test = 0;
  double query_accuracy = 0;
  std::vector<float> shown;  // pictures as they are
  std::vector<int> labels;   // of the points in the planes
  std::vector<ReportedCode> codes;
};
std::string code_report_html(const CodeReport& r);

// A picture of square pixels as SVG paths, one for each of 16 grays; ink is 1. `x` and `y` are its corner.
std::string pixels_svg(std::span<const float> pixels, double x, double y);
// The first picture of every class, up to `most` of them.
std::vector<int64_t> one_of_each_class(const Images& images, int64_t maximum);

}  // namespace quern::lab
