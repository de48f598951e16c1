// One step of Adam (0.9, 0.999, 1e-8) over pairs of values and gradients; gradients are set to zero. m and v are as
// long as all pairs together, `step` counts from 1.
#pragma once
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace quern::lab {

template <class T>
void adam_step(std::initializer_list<std::pair<std::span<T>, std::span<T>>> pairs, std::vector<double>& m,
               std::vector<double>& v, int64_t step, double lr) {
  constexpr double kB1 = 0.9, kB2 = 0.999;
  const double t = static_cast<double>(step), rate = lr * std::sqrt(1 - std::pow(kB2, t)) / (1 - std::pow(kB1, t)),
               eps = 1e-8 * std::sqrt(1 - std::pow(kB2, t));
  size_t at = 0;
  for (const auto& [x, g] : pairs)
    for (size_t i = 0; i < x.size(); ++i, ++at) {
      const double d = static_cast<double>(g[i]);
      m[at] = kB1 * m[at] + (1 - kB1) * d, v[at] = kB2 * v[at] + (1 - kB2) * d * d;
      x[i] -= static_cast<T>(rate * m[at] / (std::sqrt(v[at]) + eps));
      g[i] = 0;
    }
}

}  // namespace quern::lab
