// Linear probes on codes whose answers are known, the plane of greatest variance, pictures moved and dimmed, and the
// page of a report.
#include "lab/action_centric/probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lab/action_centric/nuisance.h"
#include "lab/action_centric/report.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"

namespace quern::lab {
namespace {

std::vector<float> normal_codes(int64_t n, uint64_t seed) {
  std::vector<float> v;
  Rng rng(seed);
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<float>(rng.normal()));
  return v;
}

TEST(Probe, ReadsWhatIsLinearAndNothingElse) {
  const std::vector<float> fit = normal_codes(3 * 4000, 1), test = normal_codes(3 * 4000, 2);
  const auto told = [](const std::vector<float>& x, auto&& f) {
    std::vector<double> y;
    for (size_t i = 0; i < x.size(); i += 3) y.push_back(f(x[i], x[i + 1], x[i + 2]));
    return y;
  };
  const auto line = [](float a, float b, float) { return 2.0 * a - 3.0 * b + 5; };
  const std::vector<double> w = fit_linear(fit, 3, told(fit, line), 1);
  EXPECT_NEAR(w[0], 2, 1e-9);
  EXPECT_NEAR(w[1], -3, 1e-9);
  EXPECT_NEAR(w[2], 0, 1e-9);
  EXPECT_NEAR(w[3], 5, 1e-9);
  EXPECT_NEAR(explained_share(fit, told(fit, line), test, told(test, line), 3), 1, 1e-9);
  const auto square = [](float a, float, float) { return static_cast<double>(a * a); };
  EXPECT_NEAR(explained_share(fit, told(fit, square), test, told(test, square), 3), 0, 0.02);
  // Half of the variance lies along one axis.
  Rng rng(4);
  const auto noisy = [&](float a, float, float) { return a + rng.normal(); };
  const std::vector<double> fit_y = told(fit, noisy), test_y = told(test, noisy);
  EXPECT_NEAR(explained_share(fit, fit_y, test, test_y, 3), 0.5, 0.04);
}

TEST(Probe, ADirectionWithoutVarianceIsLeftOut) {
  std::vector<float> x = normal_codes(2 * 100, 3);
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); i += 2) x[i + 1] = 0, y.push_back(4.0 * static_cast<double>(x[i]) + 1);
  EXPECT_NEAR(explained_share(x, y, x, y, 2), 1, 1e-9);
}

TEST(Probe, LabelsOfSeparateClouds) {
  std::vector<float> x = normal_codes(2 * 600, 5);
  std::vector<int> label;
  for (size_t i = 0; i < 600; ++i) {
    label.push_back(static_cast<int>(i % 3));
    x[2 * i] += label[i] == 1 ? 9.0f : 0.0f, x[2 * i + 1] += label[i] == 2 ? 9.0f : 0.0f;
  }
  EXPECT_GT(probe_accuracy(x, label, x, label, 2), 0.98);
  const std::vector<float> nothing = normal_codes(2 * 600, 6);
  EXPECT_LT(probe_accuracy(nothing, label, nothing, label, 2), 0.45);
}

TEST(Plane, IsThatOfGreatestVariance) {
  // Along (1, 1, 0)/√2 with deviation 3, along z with 2, across with 0.1.
  std::vector<float> x;
  Rng rng(7);
  std::vector<double> far, near;
  for (int i = 0; i < 500; ++i) {
    far.push_back(3 * rng.normal()), near.push_back(2 * rng.normal());
    const double across = 0.1 * rng.normal(), half = std::sqrt(0.5);
    x.push_back(static_cast<float>(half * (far.back() + across)));
    x.push_back(static_cast<float>(half * (far.back() - across)));
    x.push_back(static_cast<float>(near.back() + 1));
  }
  const std::vector<double> plane = principal_plane(x, 3);
  double along = 0, far_size = 0, up = 0, near_size = 0;
  for (size_t i = 0; i < 500; ++i)
    along += plane[2 * i] * far[i], far_size += far[i] * far[i], up += plane[2 * i + 1] * near[i],
        near_size += near[i] * near[i];
  EXPECT_NEAR(std::abs(along) / far_size, 1, 0.02);
  EXPECT_NEAR(std::abs(up) / near_size, 1, 0.02);
}

TEST(Nuisance, MovesAndDims) {
  const Images one{.pixels = 9, .classes = 2, .x = {0, 0, 0, 0, 0.8f, 0, 0, 0, 0}, .label = {1}};
  const DisturbedImages d = disturb(one, {.shift = 1, .dimmest = 0.5, .brightest = 2, .copies = 300}, 3);
  ASSERT_EQ(d.images.size(), 300);
  int moved = 0;
  for (size_t i = 0; i < 300; ++i) {
    const int64_t at = 4 + static_cast<int64_t>(d.right[i]) + 3 * static_cast<int64_t>(d.down[i]);
    for (int64_t p = 0; p < 9; ++p)
      EXPECT_NEAR(d.images.x[i * 9 + static_cast<size_t>(p)], p == at ? std::min(1.0, 0.8 * d.brightness[i]) : 0,
                  1e-6);
    moved += at != 4;
    EXPECT_EQ(d.images.label[i], 1);
  }
  EXPECT_GT(moved, 230);
  EXPECT_LT(moved, 295);
  EXPECT_NE(message_of([&] { disturb(one, {.shift = 3}, 1); }).find("shift 3"), std::string::npos);
  Images flat = one;
  flat.pixels = 3, flat.x.resize(3);
  EXPECT_NE(message_of([&] { disturb(flat, {}, 1); }).find("square"), std::string::npos);
}

TEST(Images, RelabeledAndInBatches) {
  const Images all{.pixels = 1, .classes = 3, .x = {0, 0.1f, 0.2f, 0.3f, 0.4f}, .label = {0, 1, 2, 1, 0}};
  const Images two = relabeled(all, {0, 1, 0});
  EXPECT_EQ(two.label, (std::vector<int>{0, 1, 0, 1, 0}));
  EXPECT_EQ(two.classes, 2);
  std::vector<float> seen;
  std::vector<size_t> sizes;
  each_image_batch(all, in_order(5), 2, [&](const std::vector<float>& x, std::span<const int64_t> which) {
    seen.insert(seen.end(), x.begin(), x.end()), sizes.push_back(which.size());
  });
  EXPECT_EQ(seen, all.x);
  EXPECT_EQ(sizes, (std::vector<size_t>{2, 2, 1}));
  std::vector<int64_t> order = image_order(5, 1, 0);
  EXPECT_NE(order, image_order(5, 1, 1));
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, in_order(5));
}

TEST(Report, ShowsEveryCode) {
  const std::vector<float> dot = {0, 0, 0, 1};
  // Ink at the lower right: a black square there, the rest white.
  const std::string svg = pixels_svg(dot, 5, 0);
  EXPECT_NE(svg.find("<path fill=\"#000000\" d=\"M6 1h1v1h-1z\"/>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("<path fill=\"#ffffff\" d=\"M5 0h2v1h-2zM5 1h1v1h-1z\"/>"), std::string::npos) << svg;
  CodeReport r{.data = "<dots>",
               .pixels = 4,
               .classes = 2,
               .seeds = 1,
               .train = 8,
               .test = 2,
               .query_accuracy = 0.75,
               .shown = dot,
               .labels = {0, 1},
               .codes = {}};
  for (const auto& [loss, bits] : {std::pair{CodeLoss::reconstruction, 2.0}, {CodeLoss::action, 1.0}}) {
    ReportedCode c{.loss = loss, .beta = 0.25};
    c.figures.bits = bits, c.figures.accuracy = 0.5 + bits / 8, c.figures.squared_error = 1 / bits;
    c.images = dot, c.plane = {-1, 0, 1, 0.5};
    r.codes.push_back(c);
  }
  const std::string page = code_report_html(r);
  EXPECT_EQ(page.find("<dots>"), std::string::npos);
  for (const char* part : {"&lt;dots&gt;", "0.750 right", "action, β 0.25", "reconstruction, β 0.25", "1.0 bits",
                           "0.750 right", "M6.0 100.0h0", "M194.0 53.0h0", "class=\"strip\"", "class=\"chart\""})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("http"), std::string::npos) << "the page needs nothing from elsewhere";
  const Images some{.pixels = 1, .classes = 3, .x = {0, 0, 0}, .label = {2, 0, 2}};
  EXPECT_EQ(one_of_each_class(some, 10), (std::vector<int64_t>{1, 0}));
}

}  // namespace
}  // namespace quern::lab
