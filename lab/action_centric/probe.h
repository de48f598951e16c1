// Linear probes of a code, fitted by least squares; and the plane in which codes differ most.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace quern::lab {

// y ≈ W·x + b: coefficients [k, d + 1], the last of a row is b. x [n, d], y [n, k].
std::vector<double> fit_linear(std::span<const float> x, int64_t d, std::span<const double> y, int64_t k);
std::vector<double> apply_linear(std::span<const double> coefficients, std::span<const float> x, int64_t d);

// One quantity, told by a map fitted on other codes: 1 − squared error / variance. Below 0 where it misleads.
double explained_share(std::span<const float> fit_x, std::span<const double> fit_y, std::span<const float> x,
                       std::span<const double> y, int64_t d);
// Labels, told by the largest of as many maps fitted to 0 and 1.
double probe_accuracy(std::span<const float> fit_x, std::span<const int> fit_label, std::span<const float> x,
                      std::span<const int> label, int64_t d);

// x [n, d] as seen along the two directions of greatest variance: [n, 2], means 0.
std::vector<double> principal_plane(std::span<const float> x, int64_t d);

}  // namespace quern::lab
