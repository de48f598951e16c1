#include "lab/action_centric/nuisance.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern::lab {

DisturbedImages disturb(const Images& from, const NuisanceRange& range, uint64_t seed) {
  const int64_t side = std::llround(std::sqrt(static_cast<double>(from.pixels)));
  if (side * side != from.pixels) fail("{} pixels: expected square pictures to move", from.pixels);
  if (range.shift < 0 || range.shift >= side) fail("shift {}: expected 0 to {}", range.shift, side - 1);
  if (!(range.dimmest > 0 && range.dimmest <= range.brightest))
    fail("brightness {} to {}: expected above 0, the least first", range.dimmest, range.brightest);
  if (range.copies < 1) fail("copies {}: expected 1 or more", range.copies);
  DisturbedImages out{.images = {from.pixels, from.classes, {}, {}}, .right = {}, .down = {}, .brightness = {}};
  Rng rng(seed);
  const auto moves = static_cast<uint64_t>(2 * range.shift + 1);
  for (int64_t i = 0; i < from.size() * range.copies; ++i) {
    const int64_t image = i % from.size(), right = static_cast<int64_t>(rng.below(moves)) - range.shift,
                  down = static_cast<int64_t>(rng.below(moves)) - range.shift;
    const double light = range.dimmest + (range.brightest - range.dimmest) * rng.uniform();
    for (int64_t y = 0; y < side; ++y)
      for (int64_t x = 0; x < side; ++x) {
        const int64_t fy = y - down, fx = x - right;
        const bool inside = fy >= 0 && fy < side && fx >= 0 && fx < side;
        const float v = inside ? from.x[static_cast<size_t>(image * from.pixels + fy * side + fx)] : 0;
        out.images.x.push_back(std::min(1.0f, v * static_cast<float>(light)));
      }
    out.images.label.push_back(from.label[static_cast<size_t>(image)]);
    out.right.push_back(static_cast<double>(right)), out.down.push_back(static_cast<double>(down));
    out.brightness.push_back(light);
  }
  return out;
}

}  // namespace quern::lab
